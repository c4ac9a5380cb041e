// ---- member_of_an_open_result
// The schema allows other members, and the bank may send them.
const { accounts } = await mux.bank.accounts({});
return accounts.map((a) => a.limits.daily);
// ---- member_of_a_learned_result
// The types of this tool are learned from its results, and no promise.
await mux.github.get_user({ username: "ada" });
const u = await mux.github.get_user({ username: "grace" });
return u.address.city;
// ---- value_of_a_let
// A variable can get another value between its declaration and the call.
let number = "4";
number = number.trim();
return (await mux.github.get_issue({ owner: "acme", repo: "app", number })).title;
// ---- value_of_a_parameter
// An annotation is no proof of the value.
const title = async (number: string) => (await mux.github.get_issue({ owner: "acme", repo: "app", number })).title;
return await title("4");
// ---- text_of_no_literal
// The compiler knows that it is a text, and not which one.
const state = ["op", "en", "ed"].join("");
return (await mux.github.list_issues({ owner: "acme", repo: "app", state })).total;
// ---- members_of_a_record
// A record may have every member.
const args: Record<string, string> = { owner: "acme" };
return (await mux.github.list_issues(args)).total;
// ---- missing_member_of_a_spread
// A spread may bring the missing argument.
const where: { owner: string; repo?: string } = { owner: "acme" };
return (await mux.github.list_issues({ ...where })).total;
// ---- global_in_a_branch
// The branch may not be taken.
const { total } = await mux.tasks.stats({ project: "app" });
if (total > 2) await fetch("https://example.com/alarm");
return total;
// ---- global_in_a_swallowed_try
// The program goes on after the `catch`.
let data = null;
try {
  data = await (await fetch("https://example.com")).json();
} catch {}
return data.items;
// ---- member_of_something_nullable
// The task may exist.
const { latest } = await mux.tasks.stats({ project: "none" });
return latest.title;
// ---- element_that_may_be_missing
// The list may have an element.
const { events } = await mux.calendar.list_events({ from: "2026-03-01", calendar: "home" });
return events[0].title;
// ---- annotated_value
// The annotation may be wrong.
const name: string = mux.input?.name ?? 5;
return name.trimStart();
// ---- value_parsed_from_json
// A cast is no proof of the value.
const config = JSON.parse('{"limit": 3}') as { limit: string };
return config.limit.toUpperCase();
// ---- object_given_to_json_parse
// An object can have a `toString` that gives JSON.
const r = await mux.tasks.stats({ project: "app" });
return JSON.parse(r);
// ---- own_type_without_a_member
// The types of a program are its own.
type Issue = { id: number };
const list: Issue[] = [{ id: 1 }];
return list[0].labels.join();
// ---- function_with_a_list_that_is_typed
// The list has the type that the program gives it.
type State = "open" | "closed";
const states: State[] = ["open", "done"];
const out = [];
for (const state of states) out.push((await mux.github.list_issues({ owner: "acme", repo: "app", state })).total);
return out;
// ---- argument_from_a_missing_member
// Reading a missing member gives `undefined`, and the server may not need the argument.
const r = await mux.mail.search({ query: "a" });
return (await mux.mail.read({ id: r.first })).body;
// ---- newer_method
// The engine may be newer than the type library.
return [1, 2, 3].average();
// ---- fetch_in_a_map
// A list may be empty, so that its callback may not be called.
const urls = ["https://example.com", "https://example.org"];
const texts = await Promise.all(urls.map((u) => fetch(u).then((r) => r.text())));
return texts.length;
// ---- sleep_that_is_not_there
// A list may be empty, and a loop may not execute.
for (let i = 0; i < 2; i++) {
  await sleep(10);
}
return "slept";
// ---- assignment_to_a_constant
// A list may be empty, and a loop may not execute.
const total = 0;
for (const n of [1, 2]) total += n;
return total;
// ---- undeclared_in_a_getter
// A method or a getter may not be called.
const o = {
  get home() {
    return process.env.HOME;
  },
};
return o.home;
// ---- undeclared_in_a_constructor
// A method or a getter may not be called.
class Client {
  constructor() {
    this.agent = new HttpAgent();
  }
}
return new Client().agent;
// ---- member_of_an_element
// A list may be empty, so that its callback may not be called.
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.map((i) => i.author.login);
// ---- member_of_an_element_in_a_loop
// A list may be empty, and a loop may not execute.
const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
const out = [];
for (const e of events) {
  out.push(e.startTime.slice(0, 10));
}
return out;
// ---- member_of_an_element_in_a_sort
// A list may be empty, so that its callback may not be called.
const { tasks } = await mux.tasks.list({ project: "app" });
tasks.sort((a, b) => a.name.localeCompare(b.name));
return tasks[0].id;
// ---- member_in_a_template
// A list may be empty, so that its callback may not be called.
const { messages } = await mux.mail.search({ query: "a" });
return messages.map((m) => `${m.sender.name}: ${m.subject}`);
// ---- destructured_in_a_loop
// A list may be empty, and a loop may not execute.
const { transactions } = await mux.bank.transactions({ account: "a1" });
let sum = 0;
for (const { value } of transactions) sum += value.toFixed(2).length;
return sum;
// ---- promise_in_a_loop
// A list may be empty, and a loop may not execute.
const lists = ["inbox", "sent"].map((folder) => mux.mail.search({ query: "a", folder }));
let n = 0;
for (const l of lists) n += l.messages.length;
return n;
// ---- number_of_an_element_taken_for_a_text
// A list may be empty, so that its callback may not be called.
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.map((i) => i.comments.toUpperCase());
// ---- text_taken_for_a_date_in_a_map
// A list may be empty, so that its callback may not be called.
const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
return events.map((e) => e.start.getHours());
