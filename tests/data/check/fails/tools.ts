// ---- server_of_another_name
const { issues } = await mux.gh.list_issues({ owner: "acme", repo: "app" });
return issues.length;
// ---- server_with_a_typo
return await mux.githb.list_issues({ owner: "acme", repo: "app" });
// ---- server_in_capitals
const r = await mux.GitHub.list_issues({ owner: "acme", repo: "app" });
return r.total;
// ---- server_that_is_a_product
const pages = await mux.notion.search({ query: "roadmap" });
return pages.length;
// ---- server_in_brackets
return await mux["git-hub"].list_issues({ owner: "acme", repo: "app" });
// ---- server_in_a_loop
const out = [];
for (const q of ["a", "b"]) {
  out.push(await mux.google.search({ q }));
}
return out;
// ---- server_in_a_helper
const fetchPage = async (url) => {
  const text = await mux.browser.open({ url });
  return text.slice(0, 100);
};
return await Promise.all(["https://example.com"].map(fetchPage));
// ---- server_in_a_try
try {
  return await mux.emails.search({ query: "a" });
} catch (e) {
  throw new Error(`no mail: ${e.message}`);
}
// ---- tool_with_a_typo
return (await mux.github.list_isues({ owner: "acme", repo: "app" })).total;
// ---- tool_in_camel_case
return (await mux.github.createIssue({ owner: "acme", repo: "app", title: "T" })).number;
// ---- tool_with_the_server_in_its_name
return (await mux.mail.mail_search({ query: "a" })).messages;
// ---- tool_with_a_synonym
const { events } = await mux.calendar.get_events({ from: "2026-03-01" });
return events.length;
// ---- tool_of_another_server
return await mux.web.list_events({ from: "2026-03-01" });
// ---- tool_that_is_a_verb_of_http
return await mux.web.get({ url: "https://example.com" });
// ---- tool_called_through_a_variable
const cal = mux.calendar;
const id = await cal.add_event({ title: "Call", start: "2026-03-05T10:00:00Z", end: "2026-03-05T10:30:00Z" });
return id;
// ---- tool_destructured
const { accounts, transaction } = mux.bank;
const list = await transaction({ account: "a1" });
return list.length;
// ---- tool_in_a_promise_all
const [issues, pulls] = await Promise.all([
  mux.github.list_issues({ owner: "acme", repo: "app" }),
  mux.github.list_pull_requests({ owner: "acme", repo: "app" }),
]);
return issues.total + pulls.length;
// ---- tool_in_a_map
const ids = ["m1", "m2"];
const bodies = await Promise.all(ids.map((id) => mux.mail.read_message({ id })));
return bodies.map((b) => b.body.length);
// ---- tool_in_a_class
class Tasks {
  async open() {
    const { tasks } = await mux.tasks.list_tasks({ project: "app" });
    return tasks.filter((t) => !t.done);
  }
}
return (await new Tasks().open()).length;
// ---- tool_in_brackets
return await mux.github["list-issues"]({ owner: "acme", repo: "app" });
// ---- tool_after_an_early_return
const { messages } = await mux.mail.search({ query: "invoice" });
if (messages.length === 0) return "nothing";
await mux.mail.archive({ id: messages[0].id });
return "done";
// ---- tool_in_a_chain_of_then
return mux.db
  .run({ sql: "select 1" })
  .then((r) => r.rows)
  .finally(() => console.log("done"));
// ---- tool_with_a_suffix
return (await mux.bank.transfer_money({ from: "a1", to: "a2", amount: 5, currency: "EUR" })).status;
// ---- tool_in_a_branch
const { total } = await mux.github.list_issues({ owner: "acme", repo: "app" });
if (total > 3) {
  await mux.github.close_issue({ owner: "acme", repo: "app", number: 1 });
}
return total;
// ---- tool_in_a_ternary
const { unread } = { unread: 2 };
return unread > 1 ? await mux.mail.mark_all_read({}) : 0;
// ---- server_called_like_a_tool
return await mux.web({ query: "mcp" });
// ---- server_called_like_a_tool_in_a_loop
const found = [];
for (const query of ["a", "b"]) found.push(await mux.mail({ query }));
return found.length;
// ---- tool_without_its_server
const { issues } = await mux.list_issues({ owner: "acme", repo: "app" });
return issues;
// ---- tool_without_mux
const { issues } = await github.list_issues({ owner: "acme", repo: "app" });
return issues.length;
// ---- tools_object
return await tools.list_issues({ owner: "acme", repo: "app" });
// ---- call_tool_function
return await callTool("github", "list_issues", { owner: "acme", repo: "app" });
// ---- builtin_without_mux
const hits = await search("issues");
return hits.results.length;
