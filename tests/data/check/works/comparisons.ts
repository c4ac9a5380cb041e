// ---- state_that_cannot_be
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.filter((i) => i.state === "OPEN").length;
// ---- state_of_another_service
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.filter((i) => i.state === "open" || i.state === "reopened").length;
// ---- number_with_a_text
const { total } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return total === "5" ? "text" : "number";
// ---- dates_compared_with_texts
const now = new Date(0);
return now === "1970-01-01" || now > 5;
// ---- constant_condition
const LIMIT = 10;
if (LIMIT === 20) return "twenty";
return "ten";
// ---- narrowed_to_never
const mode = "a";
switch (mode) {
  case "a": return 1;
  case "b": return 2;
  default: return mode.length;
}
// ---- duplicate_keys
return { a: 1, b: 2, a: 3 };
// ---- unreachable_code
function f() {
  return 1;
  console.log("never");
}
return f();
// ---- code_after_the_return
const { total } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return total;
console.log(process.env.HOME);
// ---- unused_label
again: for (const x of [1, 2]) {
  if (x > 1) return x;
}
// ---- case_that_falls_through
const log = [];
switch (mux.input?.level ?? 2) {
  case 2: log.push("debug");
  case 1: log.push("info");
  case 0: log.push("error");
}
return log;
// ---- function_always_true
function ready() {
  return false;
}
if (ready) return "a function";
return "never";
// ---- promise_always_true
const r = mux.tasks.stats({ project: "app" });
if (r) return (await r).total;
return "never";
// ---- await_of_a_value
const n = await 5;
const [a] = await Promise.all([n, "x"]);
return a;
// ---- void_result_tested
const log = (x) => {
  console.log(x);
};
if (!log("hi")) return "nothing";
return "something";
// ---- void_result_returned
const done = [1, 2].forEach((x) => x);
return done ?? null;
// ---- assignment_instead_of_comparison
let state = "closed";
if ((state = "open")) return state;
return "closed";
// ---- nan_compared
const n = Number("x");
return n === NaN ? "equal" : "never equal";
// ---- object_compared_with_a_literal
const xs = [];
return xs == [] ? "same" : "not the same";
// ---- typeof_compared_with_nothing
const x = mux.input;
return typeof x === "nulll" ? 1 : 2;
// ---- instanceof_of_a_text
const x = "abc";
return x instanceof Object;
// ---- optional_chain_on_what_is_there
const { total } = await mux.tasks.stats({ project: "app" });
return total?.toFixed?.(1);
// ---- nullish_on_what_is_there
const { total } = await mux.tasks.stats({ project: "app" });
return total ?? "never";
// ---- empty_blocks
for (const x of [1, 2]) {
}
try {
} catch {
}
{
}
return "ok";
// ---- unused_things
const unused = 1;
function never() {}
import_nothing: {
}
return "ok";
// ---- last_latest_may_be_null
const s = await mux.tasks.stats({ project: "app" });
return s.latest.title;
// ---- index_that_may_be_missing
const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
return events[0].location ?? events[1].location.toUpperCase();
// ---- find_that_may_find_nothing
const { accounts } = await mux.bank.accounts({});
return accounts.find((a) => a.currency === "USD").balance.toFixed(1);
