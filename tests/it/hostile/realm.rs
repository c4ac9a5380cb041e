//! Everything that a program can reach: a walk over names, symbols, prototypes and accessors from the global object on,
//! compared with `tests/data/hostile/realm.allow`.
//!
//! Invariant: a new name in the guest's realm, ours or the engine's, shows up in the review of that file.
//! `UPDATE_GOLDEN=1` writes it.

use std::path::Path;

use mux_tests::{TestEnv, golden};

/// Lists each object once, with its kind and the first path to it. The walk is breadth-first, so this path is the
/// shortest one.
const WALK: &str = r#"
const lines = [];
const seen = new Map();
const queue = [];
const show = (key) => (typeof key === "symbol" ? `[${key.description}]` : key);
const kind = (value) => {
  if (value === null) return "null";
  if (typeof value === "function") {
    return Function.prototype.toString.call(value).includes("[native code]") ? "native function" : "function of ours";
  }
  return typeof value;
};
const visit = (path, value) => {
  const what = kind(value);
  const isObject = value !== null && (typeof value === "object" || typeof value === "function");
  if (isObject && seen.has(value)) return;
  lines.push(`${path} ${what}`);
  if (!isObject) return;
  seen.set(value, path);
  queue.push([path, value]);
};
visit("globalThis", globalThis);
for (let next; (next = queue.shift()) !== undefined; ) {
  const [path, object] = next;
  const prefix = path === "globalThis" ? "" : `${path}.`;
  if (object === mux) {
    // Its members are made when they are asked for: these are always there.
    for (const name of ["call", "catalog", "describe", "discover", "emit", "read", "search"]) visit(`mux.${name}`, mux[name]);
    for (const name of ["resources", "prompts"]) visit(`mux.${name}.any`, mux[name].any);
    continue;
  }
  for (const key of Reflect.ownKeys(object)) {
    // Every function has these two, and nothing hangs on them.
    if (typeof object === "function" && (key === "length" || key === "name")) continue;
    const { value, get, set } = Object.getOwnPropertyDescriptor(object, key);
    if (get) visit(`${prefix}<get ${show(key)}>`, get);
    if (set) visit(`${prefix}<set ${show(key)}>`, set);
    if (!get && !set) visit(prefix + show(key), value);
  }
  visit(`${prefix}<prototype>`, Object.getPrototypeOf(object));
}
return lines.sort().join("\n") + "\n";
"#;

#[test]
fn reachable_objects_are_on_the_list() {
    check(TestEnv::prevent_snapshots);
}

#[test]
fn reachable_objects_are_on_the_list_with_a_snapshot() {
    check(TestEnv::restart_with_snapshot);
}

fn check(prepare: impl FnOnce(&TestEnv)) {
    // Without servers, because tool names are not part of the realm.
    let env = TestEnv::with_config("");
    prepare(&env);
    if env.engine() == "quickjs" {
        // The list is for V8.
        return;
    }
    let found = env.result(WALK);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/hostile/realm.allow");
    golden::compare(&file, found.as_str().unwrap()).unwrap();
}
