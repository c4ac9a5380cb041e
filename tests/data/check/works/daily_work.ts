// ---- triage_open_bugs
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app", state: "open", per_page: 100 });
const bugs = issues.filter((i) => i.labels.includes("bug"));
const report = bugs
  .sort((a, b) => b.comments - a.comments)
  .map((i) => `- #${i.number} ${i.title} (${i.comments} comments, ${i.assignee?.login ?? "unassigned"})`);
return report.join("\n");
// ---- stale_issues
const cutoff = new Date("2026-02-15");
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app", state: "open" });
const stale = issues.filter((i) => new Date(i.updated_at) < cutoff);
for (const i of stale) {
  await mux.github.add_comment({ owner: "acme", repo: "app", number: i.number, body: "Still relevant?" });
}
return stale.map((i) => i.number);
// ---- issues_by_author
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app", state: "all" });
const by = {};
issues.forEach(({ user: { login } }) => (by[login] = (by[login] ?? 0) + 1));
return Object.entries(by).sort(([, a], [, b]) => b - a);
// ---- average_age_in_days
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
const today = new Date("2026-04-01");
const ages = issues.map((i) => (today - new Date(i.created_at)) / 86400000);
return Math.round(ages.reduce((a, b) => a + b) / ages.length);
// ---- pulls_waiting_for_review
const pulls = await mux.github.list_pulls({ owner: "acme", repo: "app", state: "open" });
return pulls.filter((p) => !p.draft && p.requested_reviewers.length).map((p) => ({ n: p.number, branch: p.head.ref }));
// ---- followers_of_several_users
const names = ["ada", "grace", "nobody"];
const users = await Promise.all(names.map((username) => mux.github.get_user({ username }).catch(() => null)));
return users.filter(Boolean).reduce((n, u) => n + u.followers, 0);
// ---- dependencies_of_a_package
const file = await mux.github.get_file({ owner: "acme", repo: "app", path: "package.json" });
const pkg = JSON.parse(file.content);
return Object.entries(pkg.dependencies).map(([name, range]) => `${name}@${range.replace(/^\^/, "")}`);
// ---- todos_in_a_readme
const { content } = await mux.github.get_file({ owner: "acme", repo: "app", path: "README.md" });
return content
  .split("\n")
  .map((line, n) => ({ n: n + 1, line }))
  .filter(({ line }) => line.includes("TODO"));
// ---- binary_file
const { content, encoding } = await mux.github.get_file({ owner: "acme", repo: "app", path: "logo.png" });
const bytes = encoding === "base64" ? Uint8Array.from(atob(content), (c) => c.charCodeAt(0)) : new TextEncoder().encode(content);
return [...bytes.slice(1, 4)].map((b) => String.fromCharCode(b)).join("");
// ---- close_and_create
const old = await mux.github.get_issue({ owner: "acme", repo: "app", number: 1 });
const fresh = await mux.github.create_issue({ owner: "acme", repo: "app", title: `[again] ${old.title}`, body: old.body ?? "", labels: [...old.labels, "reopened"] });
await mux.github.update_issue({ owner: "acme", repo: "app", number: old.number, state: "closed" });
return fresh.url;
// ---- markdown_table
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
const head = ["#", "title", "state"];
const rows = issues.map((i) => [i.number, i.title.slice(0, 12), i.state]);
const widths = head.map((h, c) => Math.max(h.length, ...rows.map((r) => String(r[c]).length)));
const line = (cells) => "| " + cells.map((x, c) => String(x).padEnd(widths[c])).join(" | ") + " |";
return [line(head), line(widths.map((w) => "-".repeat(w))), ...rows.map(line)].join("\n");
// ---- all_pages_of_issues
async function* pages(repo) {
  for (let page = 1; ; page++) {
    const { issues } = await mux.github.list_issues({ owner: "acme", repo, page, per_page: 2 });
    if (!issues.length) return;
    yield* issues;
  }
}
const numbers = [];
for await (const issue of pages("app")) numbers.push(issue.number);
return numbers;
// ---- agenda_of_a_day
const { events } = await mux.calendar.list_events({ from: "2026-03-02", to: "2026-03-03" });
const day = events.filter((e) => e.start.startsWith("2026-03-02"));
return day.map((e) => `${e.start.slice(11, 16)}-${e.end.slice(11, 16)} ${e.title}${e.location ? ` @ ${e.location}` : ""}`);
// ---- hours_in_meetings
const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
const ms = events.reduce((sum, e) => sum + (Date.parse(e.end) - Date.parse(e.start)), 0);
return ms / 3.6e6;
// ---- common_attendees
const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
const sets = events.filter((e) => e.attendees.length).map((e) => new Set(e.attendees));
return [...sets[0]].filter((a) => sets.every((s) => s.has(a)));
// ---- free_slots
const { busy } = await mux.calendar.free_busy({ people: ["ada", "grace", "linus"], day: "2026-03-02" });
const hours = Array.from({ length: 9 }, (_, i) => 9 + i);
const taken = Object.values(busy).flat();
const toHour = (t) => Number(t.split(":")[0]);
return hours.filter((h) => !taken.some((b) => toHour(b.start) <= h && h <= toHour(b.end)));
// ---- move_recurring_events
const { events } = await mux.calendar.list_events({ from: "2026-03-01", calendar: "work" });
const moved = [];
for (const e of events.filter((x) => x.recurring)) {
  const { deleted } = await mux.calendar.delete_event({ id: e.id });
  if (deleted) {
    const { id } = await mux.calendar.create_event({ title: e.title, start: e.start.replace("T09", "T10"), end: e.end.replace("T09", "T10") });
    moved.push([e.id, id]);
  }
}
return moved;
// ---- event_with_reminders
return await mux.calendar.create_event({
  title: "Dentist",
  start: "2026-03-09T08:00:00Z",
  end: "2026-03-09T08:30:00Z",
  reminders: [
    { method: "email", minutes: 24 * 60 },
    { method: "popup", minutes: 30 },
  ],
});
// ---- unread_by_sender
const { messages } = await mux.mail.search({ query: "is:unread", folder: "inbox" });
const by = new Map<string, number>();
for (const m of messages) if (m.unread) by.set(m.from.name, (by.get(m.from.name) ?? 0) + 1);
return Object.fromEntries(by);
// ---- amounts_in_invoices
const { messages } = await mux.mail.search({ query: "invoice" });
const amounts = [];
for (const { id, subject } of messages) {
  if (!/invoice/i.test(subject)) continue;
  const { body } = await mux.mail.read({ id });
  const [, currency, number] = body.match(/(EUR|USD) ([\d,.]+\d)/) ?? [];
  amounts.push({ currency, amount: parseFloat(number.replaceAll(",", "")) });
}
return amounts;
// ---- all_messages_by_cursor
let cursor: string | null = null;
const subjects: string[] = [];
do {
  const page = await mux.mail.search({ query: "a", ...(cursor ? { cursor } : {}) });
  subjects.push(...page.messages.map((m) => m.subject));
  cursor = page.next;
} while (cursor !== null);
return subjects;
// ---- attachments_by_type
const mails = await Promise.all(["m1", "m2", "m3"].map((id) => mux.mail.read({ id })));
const sizes = {};
for (const a of mails.flatMap((m) => m.attachments)) {
  const [type] = a.mime.split("/");
  sizes[type] = (sizes[type] || 0) + a.size;
}
return sizes;
// ---- digest_by_mail
const { issues, total } = await mux.github.list_issues({ owner: "acme", repo: "app", state: "open" });
const body = [`${total} open issues:`, ...issues.map((i) => `* ${i.title}`)].join("\n");
const { sent } = await mux.mail.send({ to: ["team@example.com"], subject: "Open issues", body, priority: "low" });
return sent ? body.length : -1;
// ---- reply_if_labelled
const { messages } = await mux.mail.search({ query: "review", cursor: "c2" });
const later = messages.filter((m) => m.labels.some((l) => l === "later"));
const known = await mux.mail.labels();
for (const m of later) {
  await mux.mail.send({ to: [m.from.address], subject: `Re: ${m.subject.replace(/^Re: /, "")}`, body: "Thanks!" });
}
await mux.mail.mark({ ids: later.map((m) => m.id), read: true });
return { replied: later.length, known: known.length };
// ---- balance_in_euros
const [{ accounts }, { rates }] = await Promise.all([mux.bank.accounts({}), mux.bank.rates({ base: "EUR" })]);
const sum = accounts.reduce((s, a) => s + (a.currency === "EUR" ? a.balance : a.balance / rates[a.currency]), 0);
return sum.toFixed(2);
// ---- spending_by_category_and_month
const { transactions } = await mux.bank.transactions({ account: "a1", since: "2026-01-01" });
const table = {};
for (const t of transactions) {
  if (t.amount > 0) continue;
  const month = t.date.slice(0, 7);
  table[month] = table[month] || {};
  table[month][t.category] = (table[month][t.category] || 0) - t.amount;
}
return table;
// ---- merchants
const { transactions } = await mux.bank.transactions({ account: "a1" });
return transactions.map((t) => t.merchant?.toUpperCase() ?? "-");
// ---- all_accounts_transactions
const { accounts } = await mux.bank.accounts({});
const all = (await Promise.all(accounts.map((a) => mux.bank.transactions({ account: a.id })))).flatMap((r) => r.transactions);
return Math.min(...all.map((t) => t.amount));
// ---- top_up
const { accounts } = await mux.bank.accounts();
const [checking, savings] = ["Checking", "Savings"].map((name) => accounts.find((a) => a.name === name));
const missing = 2000 - checking.balance;
if (missing <= 0) return "enough";
const { status, reference } = await mux.bank.transfer({ from: savings.id, to: checking.id, amount: missing, currency: "EUR", note: `top up ${new Date(0).getUTCFullYear()}` });
return { status, reference };
// ---- links_of_search_results
const { results } = await mux.web.search({ query: "model context protocol", count: 5 });
const pages = await Promise.all(results.map(async ({ url, title }) => ({ title, text: await mux.web.fetch({ url, format: "markdown" }) })));
return pages.map((p) => ({ title: p.title, links: [...p.text.matchAll(/\[(.+?)\]\((.+?)\)/g)].map(([, name]) => name) }));
// ---- hosts
const { results } = await mux.web.search({ query: "x" });
return results.map((r) => new URL(r.url).hostname);
// ---- page_title
const html = await mux.web.fetch({ url: "https://example.com", format: "html" });
return html.match(/<h1>(.*?)<\/h1>/)?.[1];
// ---- tables_and_counts
const tables = (await mux.db.tables({})).trim().split("\n");
const counts = {};
for (const t of tables) {
  const { rows: [{ n }] } = await mux.db.query({ sql: "select count(*) as n from people" });
  counts[t] = n;
}
return counts;
// ---- rows_as_csv
const { columns, rows } = await mux.db.query({ sql: "select * from people order by id" });
return [columns.join(","), ...rows.map((r) => columns.map((c) => r[c]).join(","))].join("\n");
// ---- median_salary
const { rows } = await mux.db.query({ sql: "select * from people" });
const salaries = rows.map((r) => r.salary).sort((a, b) => a - b);
const mid = salaries.length >> 1;
return salaries.length % 2 ? salaries[mid] : (salaries[mid - 1] + salaries[mid]) / 2;
// ---- raise_in_a_query
const { rows } = await mux.db.query({ sql: "select * from people where team = ?", params: ["core"], timeout_ms: 1000 });
const raised = rows.filter((r) => r.team === "core").map((r) => ({ ...r, salary: Math.round(r.salary * 1.03) }));
return (await mux.db.insert({ table: "people", rows: raised, on_conflict: "replace" })).inserted;
// ---- join_of_two_servers
const [{ rows }, { issues }] = await Promise.all([
  mux.db.query({ sql: "select * from people" }),
  mux.github.list_issues({ owner: "acme", repo: "app" }),
]);
return rows.map((p) => ({ name: p.name, opened: issues.filter((i) => i.user.login === p.name.toLowerCase()).length }));
// ---- overdue_tasks
const today = "2026-03-01";
const { tasks } = await mux.tasks.list({ project: "app", done: false });
return tasks.filter((t) => !t.done && t.due && t.due < today).map((t) => t.title);
// ---- complete_a_task
const { tasks } = await mux.tasks.list({ project: "app" });
const task = tasks.find((t) => /docs/i.test(t.title));
if (!task) return "no such task";
const { ok } = await mux.tasks.update({ id: task.id, patch: { done: true, tags: [...task.tags, "written"], "custom-field": 1 } });
return ok;
// ---- progress
const s = await mux.tasks.stats({ project: "app" });
const percent = Math.round((100 * s.by.done) / s.total);
return `${"█".repeat(percent / 10)}${"░".repeat(10 - percent / 10)} ${percent}%`;
// ---- latest_of_an_empty_project
const { latest } = await mux.tasks.stats({ project: "none" });
return latest === null ? "nothing" : latest.title;
// ---- route_between_addresses
const [a, b] = await Promise.all(["Start 1", "End 2"].map((address) => mux.maps.geocode({ address })));
const route = await mux.maps.route({ from: [a.lat, a.lon], to: [b.lat, b.lon], mode: "foot" });
return `${route.km} km in ${route.minutes} min: ${route.steps.join(", ")}`;
// ---- fastest_mode
const modes = ["car", "foot"] as const;
const routes = await Promise.all(modes.map(async (mode) => ({ mode, ...(await mux.maps.route({ from: [0, 0], to: [1, 1], mode })) })));
routes.sort((x, y) => x.minutes - y.minutes);
return routes[0].mode;
// ---- batches
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
const batches = [];
for (let i = 0; i < issues.length; i += 2) batches.push(issues.slice(i, i + 2));
const done = [];
for (const batch of batches) {
  done.push(await Promise.all(batch.map((i) => mux.github.get_issue({ owner: "acme", repo: "app", number: i.number }))));
}
return done.map((b) => b.map((i) => i.number));
// ---- pool_of_workers
const queue = [1, 2, 3, 4, 5];
const titles = [];
const worker = async () => {
  while (queue.length) {
    const number = queue.shift();
    const { title } = await mux.github.get_issue({ owner: "acme", repo: "app", number });
    titles[number - 1] = title;
  }
};
await Promise.all([worker(), worker()]);
return titles.map((t) => t.split(" ")[0]);
// ---- errors_collected
const outcomes = await Promise.allSettled([1, 99].map((number) => mux.github.get_issue({ owner: "acme", repo: "app", number })));
return outcomes.map((o) => (o.status === "fulfilled" ? o.value.title : o.reason.kind));
// ---- tool_error_handled
try {
  await mux.github.get_issue({ owner: "acme", repo: "app", number: 99 });
} catch (e) {
  if (e.kind !== "tool") throw e;
  return [e.path, e.message.includes("no such thing")];
}
