// ---- defaults_of_destructured_parameters
function f({ a = 1, b } = {}) {
  return a + (b ?? 2);
}
return f({ b: 5 });
// ---- options_with_defaults
const format = (n, { digits = 2, unit } = {}) => n.toFixed(digits) + (unit ?? "");
return [format(1.234), format(5, { unit: "€" })];
// ---- list_that_gets_another_kind
const xs = ["a"];
xs.push(1);
xs.push(null, { deep: true });
return xs.length;
// ---- map_of_mixed_values
return new Map([["a", 1], ["b", "x"]]).get("b");
// ---- map_that_gets_another_kind
const m = new Map([["a", 1]]);
m.set(2, "two");
return [...m.keys()];
// ---- set_that_gets_another_kind
const s = new Set([1, 2]);
s.add("3");
return [...s].join();
// ---- object_that_gets_members
const o = { a: 1 };
o.b = 2;
o.c = o.a + o.b;
return o;
// ---- object_with_a_member_of_another_kind
const o = { name: null, tags: [] };
o.name = "ada";
o.tags = o.tags.concat("x").join(",");
return o;
// ---- variable_of_another_kind
let r = await mux.github.list_issues({ owner: "acme", repo: "app" });
r = r.issues.filter((i) => i.labels.length);
return r.length;
// ---- counter_that_becomes_text
let n = 0;
n += 5;
n = n + " issues";
return n;
// ---- reviver_with_a_source
return JSON.parse("725653563933458433", (k, v, c) => c.source);
// ---- arguments
function sum() {
  return Array.from(arguments).reduce((a, b) => a + b, 0);
}
return sum(1, 2, 3);
// ---- fewer_arguments_than_parameters
function join(a, b, c) {
  return [a, b, c].filter(Boolean).join("-");
}
return join("x", "y");
// ---- more_arguments_than_parameters
const double = (n) => n * 2;
return double(4, "ignored");
// ---- callbacks_with_other_parameters
return ["1", "2", "3"].map((s, i, all, extra) => `${s}${i}${all.length}${extra}`);
// ---- this_in_a_function
function Counter() {
  this.n = 0;
}
Counter.prototype.add = function () {
  this.n++;
  return this;
};
const c = new Counter();
return c.add().add().n;
// ---- this_in_an_object
const cart = {
  items: [],
  add(item) {
    this.items.push(item);
    return this;
  },
  get size() {
    return this.items.length;
  },
};
return cart.add("a").add("b").size;
// ---- function_with_members
function memo(n) {
  memo.cache ??= {};
  return (memo.cache[n] ??= n * n);
}
memo(3);
return memo.cache;
// ---- comparator_that_gives_a_boolean
return [3, 1, 2].sort((a, b) => a > b).length;
// ---- sort_by_subtraction_of_dates
const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
return events.sort((a, b) => new Date(b.start) - new Date(a.start)).map((e) => e.id);
// ---- dates_divided
const days = (new Date("2026-03-10") - new Date("2026-03-01")) / 864e5;
return Math.round(days);
// ---- text_in_arithmetic
return ["5" * 2, "7" - 3, "8" / "2"];
// ---- to_fixed_in_arithmetic
const rounded = (2.456).toFixed(1);
return rounded * 2;
// ---- boolean_in_arithmetic
return [true, false, true].reduce((n, b) => n + b, 0);
// ---- unary_plus_of_a_date
return +new Date(5) + 1;
// ---- includes_with_another_kind
const xs = ["1", "2"];
const n = 1;
return [xs.includes(n), xs.includes(String(n)), xs.indexOf(2)];
// ---- reduce_into_an_object
const { transactions } = await mux.bank.transactions({ account: "a1" });
return transactions.reduce((sum, t) => {
  sum[t.category] = (sum[t.category] || 0) + t.amount;
  return sum;
}, {});
// ---- reduce_into_a_list
return [1, 2, 3].reduce((all, n) => [...all, n, n], []).length;
// ---- reduce_with_null
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.reduce((best, i) => (best === null || i.comments > best.comments ? i : best), null).number;
// ---- reduce_without_a_start
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.reduce((a, b) => (a.comments > b.comments ? a : b)).title;
// ---- group_by_hand
const groups = {};
for (const w of ["apple", "avocado", "bean"]) (groups[w[0]] = groups[w[0]] || []).push(w);
return groups;
// ---- nested_counts
const counts = {};
for (const { team, name } of (await mux.db.query({ sql: "select * from people" })).rows) {
  counts[team] ??= { people: 0, names: [] };
  counts[team].people++;
  counts[team].names.push(name);
}
return counts;
// ---- catch_without_a_type
try {
  null.x;
} catch (e) {
  return [e.message, e.code, e.name];
}
// ---- thrown_text
try {
  throw "stop";
} catch (e) {
  return e.toUpperCase();
}
// ---- thrown_object
try {
  throw { status: 404, body: { reason: "gone" } };
} catch ({ status, body }) {
  return `${status} ${body.reason}`;
}
// ---- error_with_more_members
const e = new Error("no");
e.code = "E_NO";
e.details = { tries: 3 };
return [e.code, e.details.tries];
// ---- error_with_a_cause
try {
  try {
    JSON.parse("{");
  } catch (cause) {
    throw new Error("bad config", { cause });
  }
} catch (e) {
  return e.cause.name;
}
// ---- var_declared_again
var total = 0;
for (var i = 0; i < 3; i++) total += i;
var total = total + 1;
for (var i = 0; i < 2; i++) total += i;
return total;
// ---- function_declared_again
function pick() {
  return 1;
}
function pick() {
  return 2;
}
return pick();
// ---- used_before_the_function
return twice(4);
function twice(n) {
  return n * 2;
}
// ---- labelled_loops
outer: for (const a of [1, 2, 3]) {
  for (const b of [1, 2, 3]) {
    if (a * b === 4) {
      var found = [a, b];
      break outer;
    }
  }
}
return found;
// ---- getters_and_setters
const temp = {
  c: 20,
  get f() {
    return this.c * 1.8 + 32;
  },
  set f(v) {
    this.c = (v - 32) / 1.8;
  },
};
temp.f = 212;
return temp.c;
// ---- class_fields_without_types
class Cache {
  #hits = 0;
  store = {};
  static made = 0;
  constructor(limit) {
    this.limit = limit;
    Cache.made++;
  }
  get(key, make) {
    if (key in this.store) {
      this.#hits++;
      return this.store[key];
    }
    return (this.store[key] = make(key));
  }
  get hits() {
    return this.#hits;
  }
}
const cache = new Cache(10);
cache.get("a", (k) => k + 1);
cache.get("a", (k) => k + 2);
return [cache.hits, cache.limit, Cache.made];
// ---- subclass_with_more_members
class Base {
  run() {
    return this.name();
  }
}
class Sub extends Base {
  name() {
    return "sub";
  }
}
return new Sub().run();
// ---- mixin
const Named = (B) => class extends B {
  hello() {
    return `I am ${this.who}`;
  }
};
class P {
  who = "p";
}
return new (Named(P))().hello();
// ---- symbols
const kind = Symbol("kind");
const o = { [kind]: "special", plain: 1 };
o[Symbol.toPrimitive] = () => 7;
return [o[kind], +o];
// ---- iterator_by_hand
const range = {
  from: 1,
  to: 3,
  [Symbol.iterator]() {
    let n = this.from;
    return { next: () => (n <= this.to ? { value: n++, done: false } : { done: true }) };
  },
};
return [...range];
// ---- proxy
const seen = [];
const p = new Proxy({}, { get: (t, k) => (seen.push(k), k.length) });
return [p.abc, p.de, seen];
// ---- closures_in_a_table
const ops = { add: (a, b) => a + b, neg: (a) => -a };
return Object.keys(ops).map((k) => ops[k](2, 3));
// ---- call_and_apply
return [Math.max.apply(null, [1, 9, 3]), Array.prototype.slice.call("abc", 1), [].concat.apply([], [[1], [2]])];
// ---- bind
const greet = function (hello, mark) {
  return hello + ", " + this.name + mark;
};
return greet.bind({ name: "Ada" }, "Hi")("!");
// ---- comma_and_void
let n = 0;
const last = (n++, n++, n);
return [last, void 0 ?? "nothing"];
// ---- loose_equality
return ["1" == 1, null == undefined, 0 == "", [1] == 1];
// ---- sparse_and_length
const a = [];
a[3] = "x";
a.length = 5;
return [a.length, a.findIndex((x) => x === "x")];
// ---- new_array_of_n
return [new Array(3).fill().map((_, i) => i * i), Array.from({ length: 3 }, (_, i) => i)];
// ---- object_spread_of_nothing
const extra = mux.input?.extra;
return { a: 1, ...extra, ...null, ...(false && { b: 2 }) };
// ---- regular_expression_groups
const m = "2026-03-02".match(/(?<y>\d+)-(?<m>\d+)/);
return [m.groups.y, m[2], m.index];
// ---- replace_with_a_function
return "a1b22".replace(/\d+/g, (d) => d * 2);
// ---- text_used_like_a_list
return [..."abc"].map((c, i) => "abc"[i] + c.charCodeAt()).join("");
// ---- parse_int_in_map
return ["10", "10", "10"].map(parseInt);
// ---- number_methods_on_a_literal
return [1..toFixed(1), (255).toString(16), Number("0x1f"), ~~3.7];
// ---- dynamic_function_name
const handlers = {};
["open", "close"].forEach((n) => (handlers[`on_${n}`] = () => n.toUpperCase()));
return handlers.on_open() + handlers.on_close();
// ---- promise_without_a_type
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const got = await Promise.race([wait(1).then(() => "late"), Promise.resolve("now")]);
return got;
// ---- all_settled_results
const results = await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error("x"))]);
return results.map((r) => r.value ?? r.reason.message);
// ---- retry_loop
let tries = 0, value, error;
while (tries < 3) {
  try {
    tries++;
    if (tries < 2) throw new Error("again");
    value = tries;
    break;
  } catch (e) {
    error = e;
  }
}
return [value, error.message];
// ---- default_export_like_main
const main = async () => {
  const { total } = await mux.tasks.stats({ project: "app" });
  return total;
};
return main();
// ---- assignment_in_a_condition
const re = /(\w)=(\d)/g;
let m, pairs = {};
while ((m = re.exec("a=1 b=2"))) pairs[m[1]] = m[2];
return pairs;
// ---- swap_by_destructuring
let a = 1, b = "two";
[a, b] = [b, a];
return [a, b];
// ---- sum_of_optional_numbers
const { tasks } = await mux.tasks.list({ project: "app" });
return tasks.reduce((sum, t) => sum + (t.estimate || 0), 0);
// ---- optional_number_added
const { tasks } = await mux.tasks.list({ project: "app" });
return tasks.map((t) => t.estimate + 1).map(String);
// ---- polyfilled_method
String.prototype.shout ??= function () {
  return this.toUpperCase() + "!";
};
return "hi".shout();
// ---- defined_property
Object.defineProperty(Array.prototype, "second", { get() { return this[1]; } });
return [1, 2, 3].second;
// ---- number_as_a_text_parameter
const pad = (s) => String(s).padStart(3, "0");
return pad(7) + encodeURIComponent(5) + "x".repeat("3");
// ---- list_as_text
return "a,b".split(",") + "" + [1, [2, 3]];
// ---- set_of_a_map_result
const unique = [...new Set((await mux.mail.search({ query: "a" })).messages.map((m) => m.from.address))];
return unique.sort((a, b) => a - b);
// ---- in_and_instanceof
const x = mux.input ?? {};
return ["a" in x, x instanceof Object, Array.isArray(x)];
// ---- typed_arrays
const bytes = new TextEncoder().encode("hé");
return [bytes.length, bytes.reduce((a, b) => a + b, 0), new TextDecoder().decode(bytes.slice(1))];
// ---- weak_map_private
const hidden = new WeakMap();
class Box {
  constructor(v) {
    hidden.set(this, v);
  }
  open() {
    return hidden.get(this).inside;
  }
}
return new Box({ inside: 5 }).open();
// ---- big_int_mixed_carefully
return [String(2n ** 64n), Number(5n) + 1, 10n > 9];
// ---- tagged_template
const sql = (parts, ...values) => parts.raw.join("?") + values.length;
return sql`select ${1} from ${"t"}`;
// ---- generator_that_receives
function* talk() {
  const a = yield "name?";
  return `hello ${a}`;
}
const t = talk();
t.next();
return t.next("ada").value;
// ---- async_generator
async function* pages() {
  for (const page of [1, 2]) yield (await mux.github.list_issues({ owner: "acme", repo: "app", page })).issues;
}
let n = 0;
for await (const issues of pages()) n += issues.length;
return n;
