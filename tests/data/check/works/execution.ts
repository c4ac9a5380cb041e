// ---- rejection_handled_where_the_function_is_called
const get = async (u) => {
  const r = await fetch(u);
  return r.json();
};
const data = await get("https://x").catch(() => ({ ok: false }));
return data.ok;
// ---- rejection_collected_by_all_settled
const results = await Promise.allSettled([fetch1(), Promise.resolve(1)]);
async function fetch1() { return await fetch("x"); }
return results.map((r) => r.status);
// ---- fallback_on_the_next_line
const r = await mux.tasks.stats({ project: "app" });
const list = r.items
  ?? r.total;
return list;
// ---- no_semicolons
const r = await mux.tasks.stats({ project: "app" })
const n = r.total
const m = r.items ? r.items.length : n
return m
// ---- tested_by_typeof
const r = await mux.tasks.stats({ project: "app" });
if (typeof r.items !== "undefined") { for (const i of r.items) console.log(i); }
return Boolean(r.items);
// ---- tested_by_a_helper
const r = await mux.tasks.stats({ project: "app" });
const has = (k) => k in r;
return has("items") ? r.items.length : 0;
// ---- tested_by_and
const r = await mux.tasks.stats({ project: "app" });
const items = r.items;
return (items && items.length) || 0;
// ---- tested_by_is_array
const r = await mux.tasks.stats({ project: "app" });
const { items } = r;
return Array.isArray(items) ? items.length : 0;
// ---- tested_against_undefined
const r = await mux.tasks.stats({ project: "app" });
const { items } = r;
const n = items === undefined ? 0 : items.length;
return n;
// ---- let_with_a_fallback
const r = await mux.tasks.stats({ project: "app" });
let items = r.items;
items = items || [];
return items.length;
// ---- fallback_in_concat_and_spread
const r = await mux.tasks.stats({ project: "app" });
const items = [].concat(r.items || []);
return items.map((x) => x.id).length + [...(r.items ?? [])].length;
// ---- fallback_in_loops
const r = await mux.tasks.stats({ project: "app" });
for (const x of r.items ?? []) console.log(x);
for (const x of r.list || []) console.log(x);
return JSON.stringify(r.items) ?? "undefined";
// ---- missing_member_as_text
const r = await mux.tasks.stats({ project: "app" });
return String(r.items).length + `${r.items}`.length + (r.items + "").length;
// ---- missing_member_in_a_try
const r = await mux.tasks.stats({ project: "app" });
try { r.items.forEach(console.log); } catch (e) { console.log(e.message); }
return r.total;
// ---- missing_member_in_a_function_called_in_a_try
const r = await mux.tasks.stats({ project: "app" });
async function use() { return r.items.length; }
try { await use(); } catch { return "caught"; }
// ---- missing_member_in_a_function_that_is_not_called
const r = await mux.tasks.stats({ project: "app" });
const f = () => r.items.length;
return f.length;
// ---- missing_member_in_a_getter_that_is_not_read
const r = await mux.tasks.stats({ project: "app" });
const lazy = { get items() { return r.items.length; }, total: r.total };
return lazy.total;
// ---- generator_that_is_left_early
function* g() { yield 1; yield missing(); }
for (const x of g()) return x;
// ---- constant_or
const x = true || nothing();
const y = null ?? 5;
return [x, y, false && nothing()];
// ---- case_that_is_not_reached
switch (1) { case 1: return "one"; case nothing(): return "x"; }
// ---- computed_key
const s = { a: 1, ["b" + 1]: 2 };
return s.b1 + s.a;
// ---- logical_assignment
let n = 1;
n ||= nothing;
return n;
// ---- default_parameter
const f = (a, b = a + nothing) => a;
return f(1, 2);
// ---- defaults_in_patterns
const { a = nothing } = { a: 1 };
const [b = nothing] = [2];
return a + b;
// ---- block_that_is_left
label: { if (1) break label; nothing(); }
return 1;
// ---- executor_that_resolves
const p = new Promise((resolve, reject) => { if (0) reject(nothing); resolve(3); });
return p;
// ---- any_of_two
return await Promise.any([Promise.resolve(1), (async () => nothing)()]);
// ---- failures_that_are_caught
try { nothing(); } catch { console.log("x"); } finally { console.log("f"); }
try { try { nothing; } finally { console.log("y"); } } catch {}
return 5;
// ---- timer_that_is_cleared
const t = setTimeout(() => nothing(), 100000);
clearTimeout(t);
return 1;
// ---- caught_reference_error
let x;
try { x = nothing } catch (e) { x = e instanceof ReferenceError }
return x
// ---- handler_that_is_not_called
const onError = () => { nothing() }
const ok = true
if (!ok) onError()
return ok
// ---- method_that_is_not_called
class A { static create() { return new A() } log() { nothing() } run() { return 1 } }
return A.create().run()
// ---- command_that_is_not_chosen
const cmd = { list: () => 1, remove: () => nothing() };
return cmd["list"]();
// ---- callback_of_an_empty_list
const ids = [];
const r = ids.map((i) => i.foo.bar).concat([1]);
return r.length;
// ---- member_made_a_number
const args = { owner: "acme", repo: "app", number: "1" };
args.number = Number(args.number);
return (await mux.github.get_issue(args)).number;
// ---- member_replaced_beside_a_spread
const args = { owner: "acme", repo: "app", number: "1" };
return (await mux.github.get_issue({ ...args, number: +args.number })).number;
// ---- text_that_is_split
const labels = "bug,p1";
return (await mux.github.create_issue({ owner: "acme", repo: "app", title: "t", labels: labels.split(",") })).number;
// ---- list_in_an_object_that_grows
const to = ["a@x"];
const mail = { to, subject: "s", body: "b", cc: [] };
mail.cc.push("c@x");
return (await mux.mail.send(mail)).sent;
// ---- null_that_is_replaced
const payload = { to: ["a@x"], subject: "s", body: "b", priority: null };
payload.priority = payload.priority ?? "low";
return (await mux.mail.send(payload)).sent;
// ---- undefined_members
const opts = { project: "app", tags: undefined, done: undefined };
return (await mux.tasks.list(opts)).tasks.length;
// ---- nullable_member_that_is_absent
const filter: { project: string; done?: boolean | null } = { project: "app" };
return (await mux.tasks.list(filter)).tasks.length;
// ---- cast_to_any
const mk = (o: object) => mux.tasks.list(o as any);
return (await mk({ project: "app" })).tasks.length;
// ---- annotated_as_object
const o: object = { project: "app" };
return (await mux.tasks.list(o)).tasks.length;
// ---- annotated_as_unknown
const o: unknown = { project: "app" };
return (await mux.tasks.list(o)).tasks.length;
// ---- entries_with_unknown_values
const e: [string, unknown][] = [["project", "app"]];
return (await mux.tasks.list(Object.fromEntries(e))).tasks.length;
// ---- optional_member_that_is_given
type P = { project?: string };
const o: P = { project: "app" };
return (await mux.tasks.stats(o)).total;
// ---- element_of_a_mixed_list
const [project] = ["app", 5];
return (await mux.tasks.stats({ project })).total;
// ---- element_that_may_be_undefined
const project = ["app"].find((x) => x);
return (await mux.tasks.stats({ project })).total;
// ---- value_of_a_map
const m = new Map([["project", "app"]]);
return (await mux.tasks.stats({ project: m.get("project") })).total;
