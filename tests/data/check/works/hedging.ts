// ---- issues_or_items
const r = await mux.github.list_issues({ owner: "acme", repo: "app" });
const issues = Array.isArray(r) ? r : r.issues ?? r.items ?? r.data ?? [];
return issues.length;
// ---- or_instead_of_nullish
const r = await mux.github.list_issues({ owner: "acme", repo: "app" });
return (r.items || r.issues || []).map((i) => i.number);
// ---- two_spellings
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.map((i) => (i.createdAt || i.created_at).slice(0, 10));
// ---- name_or_login
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.map((i) => i.user.name ?? i.user.login);
// ---- optional_content
const r = await mux.mail.read({ id: "m1" });
const text = r?.content?.[0]?.text ?? r.body;
return text.length;
// ---- content_of_a_message
const r = await mux.mail.read({ id: "m2" });
if (r.content) return r.content[0].text;
return r.body.split("\n")[0];
// ---- text_if_it_is_text
const r = await mux.mail.search({ query: "a" });
const data = typeof r === "string" ? JSON.parse(r) : r;
return data.messages.length;
// ---- parsed_if_it_has_content
const r = await mux.tasks.stats({ project: "app" });
const stats = r.content ? JSON.parse(r.content[0].text) : r;
return stats.by.open;
// ---- unknown_shape_by_keys
const r = await mux.github.search_issues({ q: "crash" });
const key = Object.keys(r).find((k) => Array.isArray(r[k]));
return r[key].length;
// ---- list_anywhere
const asList = (r) => (Array.isArray(r) ? r : Object.values(r).find(Array.isArray) ?? []);
return [asList(await mux.bank.accounts({})).length, asList(await mux.mail.labels()).length];
// ---- destructured_next_page
const { issues, next_page } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return [issues.length, next_page ?? null];
// ---- destructured_with_a_default
const { issues = [], errors = [] } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return [issues.length, errors.length];
// ---- destructured_rest
const { total, ...rest } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return [total, Object.keys(rest)];
// ---- pages_until_there_are_no_more
const all = [];
let page = 1;
while (true) {
  const { issues, has_more } = await mux.github.list_issues({ owner: "acme", repo: "app", page });
  all.push(...issues);
  if (!has_more || issues.length === 0) break;
  page++;
}
return all.length;
// ---- cursor_of_two_names
const seen = [];
let cursor;
do {
  const r = await mux.mail.search({ query: "a", cursor });
  seen.push(...r.messages.map((m) => m.id));
  cursor = r.next ?? r.nextCursor;
} while (cursor);
return seen;
// ---- member_in_result
const r = await mux.tasks.stats({ project: "app" });
return "error" in r ? r.error.message : r.total;
// ---- own_property
const r = await mux.bank.rates({ base: "EUR" });
return Object.hasOwn(r, "error") ? r.error : r.rates.USD;
// ---- error_field
const r = await mux.bank.transfer({ from: "a1", to: "a2", amount: 1, currency: "EUR" });
if (r.error) throw new Error(r.error.message);
return r.status;
// ---- ok_flag_that_is_not_there
const r = await mux.tasks.update({ id: 1, patch: { done: true } });
if (r.ok === false || r.success === false) return "failed";
return "ok";
// ---- is_error_of_raw_results
const r = await mux.github.list_issues({ owner: "acme", repo: "app" });
return r.isError ? null : r.total;
// ---- undeclared_member_of_an_open_result
const { accounts } = await mux.bank.accounts({});
return accounts.map((a) => a.iban);
// ---- undeclared_member_of_a_search
const r = await mux.github.search_issues({ q: "crash" });
return [r.incomplete, r.items.map((i) => i.score.toFixed(1))];
// ---- missing_member_is_undefined
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.filter((i) => i.pull_request === undefined).length;
// ---- missing_member_in_a_template
const i = await mux.github.get_issue({ owner: "acme", repo: "app", number: 1 });
return `#${i.number} ${i.title} ${i.milestone}`;
// ---- missing_member_in_a_record
const i = await mux.github.get_issue({ owner: "acme", repo: "app", number: 1 });
return { number: i.number, milestone: i.milestone, closed: i.closed_at };
// ---- missing_member_in_a_condition
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.filter((i) => !i.locked).length;
// ---- missing_member_with_and
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.map((i) => i.milestone && i.milestone.title);
// ---- optional_call
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.map((i) => i.reactions?.total?.() ?? 0);
// ---- optional_chain_that_ends_plainly
const i = await mux.github.get_issue({ owner: "acme", repo: "app", number: 2 });
return i.milestone?.title.toUpperCase() ?? "none";
// ---- nullable_member_used_plainly
const i = await mux.github.get_issue({ owner: "acme", repo: "app", number: 1 });
return i.assignee.login;
// ---- assignees_or_assignee
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
const load = {};
for (const i of issues) {
  const people = i.assignees ?? (i.assignee ? [i.assignee] : []);
  for (const p of people) load[p.login] = (load[p.login] ?? 0) + 1;
}
return load;
// ---- labels_of_two_shapes
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.flatMap((i) => i.labels.map((l) => (typeof l === "string" ? l : l.name)));
// ---- labels_by_object_or_text
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return [...new Set(issues.flatMap((i) => i.labels.map((l) => l.name ?? l)))].sort();
// ---- start_of_two_shapes
const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
return events.map((e) => (e.start.dateTime ?? e.start.date ?? e.start).slice(11, 16));
// ---- attendees_of_two_shapes
const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
return events.flatMap((e) => e.attendees.map((a) => a.email ?? a)).length;
// ---- sender_of_two_shapes
const { messages } = await mux.mail.search({ query: "a" });
return messages.map((m) => (typeof m.from === "string" ? m.from : m.from.address));
// ---- empty_check_by_length_or_size
const r = await mux.mail.search({ query: "zzz", folder: "archive" });
if (!r || r.length === 0 || r.messages?.length === 0) return "nothing";
return r;
// ---- caught_because_it_may_be_missing
const r = await mux.tasks.stats({ project: "app" });
try {
  return r.byUser.ada.open;
} catch {
  return r.by.open;
}
// ---- total_or_length
const r = await mux.github.list_issues({ owner: "acme", repo: "app" });
const n = r.total_count ?? r.totalCount ?? r.count ?? r.total ?? r.issues.length;
return n;
// ---- rows_of_a_query
const r = await mux.db.query({ sql: "select * from people" });
const rows = r.rows || r.result?.rows || r;
return rows.map((row) => row.name);
// ---- variable_tested_after
const r = await mux.github.list_issues({ owner: "acme", repo: "app" });
const items = r.items;
if (!items) return r.issues.length;
return items.length;
// ---- alias_with_a_fallback
const r = await mux.github.list_issues({ owner: "acme", repo: "app" });
let list = r.items;
list ??= r.issues;
return list.length;
// ---- result_replaced_by_its_list
let r = await mux.github.list_issues({ owner: "acme", repo: "app" });
r = r.issues;
return r.map((i) => i.number);
// ---- result_replaced_in_an_object
const state = { data: await mux.github.list_issues({ owner: "acme", repo: "app" }) };
state.data = state.data.issues;
return state.data.filter((i) => i.state === "open").length;
// ---- result_that_gets_a_member
const r = await mux.github.list_issues({ owner: "acme", repo: "app" });
r.open = r.issues.filter((i) => i.state === "open");
return r.open.map((i) => i.number);
// ---- elements_that_get_a_member
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
for (const i of issues) i.age = Date.parse("2026-04-01") - Date.parse(i.created_at);
issues.sort((a, b) => b.age - a.age);
return issues[0].age.toString().length;
// ---- member_set_with_object_assign
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
const scored = issues.map((i) => Object.assign(i, { score: i.comments * 2 }));
return scored[0].score.toFixed(0);
// ---- text_replaced_by_what_it_means
let text = (await mux.github.get_file({ owner: "acme", repo: "app", path: "package.json" })).content;
text = JSON.parse(text);
return Object.keys(text.dependencies);
// ---- delete_of_a_missing_member
const r = await mux.tasks.stats({ project: "app" });
delete r.cached;
return r;
// ---- json_of_everything
const r = await mux.tasks.stats({ project: "app" });
return JSON.parse(JSON.stringify(r, (k, v) => (v === null ? undefined : v))).total;
// ---- member_by_a_variable
const field = mux.input?.field ?? "missing";
const r = await mux.tasks.stats({ project: "app" });
return r[field] ?? "no such field";
// ---- get_helper
const get = (o, path) => path.split(".").reduce((x, k) => x?.[k], o);
const r = await mux.tasks.stats({ project: "app" });
return [get(r, "by.open"), get(r, "by.none.deep") ?? null];
