// ---- data_of_a_result
const r = await mux.github.list_issues({ owner: "acme", repo: "app" });
return r.data.map((i) => i.number);
// ---- items_of_a_result
const { total } = await mux.github.list_issues({ owner: "acme", repo: "app" });
const r = await mux.github.list_issues({ owner: "acme", repo: "app" });
return r.items.length + total;
// ---- result_taken_for_a_list
const issues = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.filter((i) => i.state === "open").length;
// ---- result_taken_for_a_text
const mail = await mux.mail.read({ id: "m1" });
return mail.split("\n").length;
// ---- loop_over_a_result
const messages = await mux.mail.search({ query: "a" });
for (const m of messages.items) console.log(m.subject);
// ---- spread_of_a_missing_list
const r = await mux.calendar.list_events({ from: "2026-03-01" });
return [...r.items].length;
// ---- keys_of_a_missing_object
const s = await mux.tasks.stats({ project: "app" });
return Object.keys(s.counts).length;
// ---- misspelled_member_called
const s = await mux.tasks.stats({ project: "app" });
return s.totl.toFixed(1);
// ---- misspelled_nested_member
const { messages } = await mux.mail.search({ query: "a" });
return messages[0].from.adress.split("@")[1];
// ---- member_in_a_helper
const when = (e) => e;
async function first() {
  const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
  return when(events[0].when.start);
}
return await first();
// ---- list_in_a_constant
const r = await mux.tasks.list({ project: "app" });
const items = r.items;
return items.map((t) => t.title);
// ---- destructured_and_used
const { results } = await mux.mail.search({ query: "a" });
return results.length;
// ---- destructured_with_another_name
const { data: rows } = await mux.db.query({ sql: "select 1" });
return rows[0];
// ---- nested_destructuring_of_a_missing_member
const { user } = await mux.tasks.stats({ project: "app" });
const { login } = user;
return login;
// ---- result_of_an_awaited_call_in_parentheses
return (await mux.github.get_issue({ owner: "acme", repo: "app", number: 1 })).creator.login;
// ---- content_of_a_declared_result
const r = await mux.tasks.stats({ project: "app" });
return JSON.parse(r.content[0].text).total;
// ---- map_on_a_declared_object
const file = await mux.github.get_file({ owner: "acme", repo: "app", path: "README.md" });
return file.map((l) => l.length);
// ---- promise_without_await
const r = mux.github.list_issues({ owner: "acme", repo: "app" });
return r.issues.length;
// ---- promise_in_a_chain
return mux.mail.read({ id: "m1" }).body.split("\n")[0];
// ---- promise_iterated
async function numbers() {
  return (await mux.github.list_issues({ owner: "acme", repo: "app" })).issues.map((i) => i.number);
}
for (const n of numbers()) console.log(n);
// ---- promise_spread
const load = async () => [1, 2, 3];
return Math.max(...load());
// ---- promise_destructured
const { issues } = mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.length;
// ---- promise_all_without_await
const pages = Promise.all([1, 2].map((page) => mux.github.list_issues({ owner: "acme", repo: "app", page })));
return pages.map((p) => p.issues);
// ---- number_taken_for_a_text
const { total } = await mux.tasks.stats({ project: "app" });
return total.padStart(5);
// ---- text_taken_for_a_list
const { body } = await mux.mail.read({ id: "m1" });
return body.map((line) => line.trim());
// ---- text_taken_for_a_date
const { created_at } = await mux.github.get_issue({ owner: "acme", repo: "app", number: 1 });
return created_at.getFullYear();
// ---- misspelled_method_of_a_text
const { subject } = await mux.mail.read({ id: "m1" });
return subject.toUppercase();
// ---- misspelled_method_of_a_literal
return "a-b".replceAll("-", "+");
// ---- misspelled_method_of_a_list
const { tasks } = await mux.tasks.list({ project: "app" });
return tasks.fliter((t) => t.done).length;
// ---- misspelled_method_of_a_literal_list
return [1, 2, 3].foreach((n) => console.log(n));
// ---- misspelled_method_of_a_map
const m = new Map([["a", 1]]);
return m.foreach((v, k) => console.log(k, v));
// ---- misspelled_json
return JSON.stringfy({ a: 1 });
// ---- misspelled_math
return Math.rond(2.5);
// ---- call_of_a_number
const n = 5;
return n(1);
// ---- call_of_a_member_that_is_a_number
const { total } = await mux.tasks.stats({ project: "app" });
return total();
// ---- call_of_a_list
const names = ["a", "b"];
return names(0);
// ---- loop_over_a_number
const { total } = await mux.tasks.stats({ project: "app" });
for (const i of total) console.log(i);
