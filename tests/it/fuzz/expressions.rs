//! Valid programs with awkward values, given to everything that takes values out of the isolate.

use std::time::Duration;

use mux_chance::{broken, holds};
use mux_sandbox::ProgramLimits;
use mux_wire::FaultKind;
use proptest::{collection::vec, prelude::*, sample::select};
use tokio::runtime::Runtime;

use super::{pool_in, run};

const VALUES: &[&str] = &[
    "undefined",
    "null",
    "NaN",
    "-0",
    "1n",
    "'\\ud800'",
    "'\\0'",
    "'__proto__'",
    "Symbol('s')",
    "Symbol.iterator",
    "() => 1",
    "class A { #x = 1; get y() { throw this } }",
    "function* () { yield 1 }",
    "new Date(NaN)",
    "/a/gu",
    "new Map([[{}, 1]])",
    "new WeakMap()",
    "new Error('e', { cause: 1 })",
    "new ArrayBuffer(8)",
    "new Float64Array(3)",
    "new Proxy({}, { ownKeys() { throw 1 } })",
    "new Proxy([], { get(t, k) { return k === 'length' ? 2 ** 32 : t[k] } })",
    "new Proxy(() => {}, {})",
    "Object.create(null)",
    "({ toJSON() { throw { toString: null } } })",
    "({ toJSON() { return this } })",
    "({ get a() { throw new Proxy({}, {}) } })",
    "({ then(f) { f({ then: 1 }) } })",
    "({ then(_, r) { r(null) } })",
    "({ [Symbol.toPrimitive]() { return {} } })",
    "(() => { const a = {}; a.a = a; return a })()",
    "[, 1, , ]",
    "'x'.repeat(1e5)",
    "Promise.reject(1)",
    "new Promise(() => {})",
    "globalThis",
    "mux",
    "mux.fix",
    "mux.fix.echo",
    "console",
    "mux.input",
];

/// `$` and `@` are replaced by other expressions.
const FORMS: &[&str] = &[
    "[$, @]",
    "({ a: $, b: @ })",
    "({ [$]: @ })",
    "({ __proto__: $, a: @ })",
    "[...$]",
    "({ ...$ })",
    "$ + @",
    "$[@]",
    "$(@)",
    "new ($)(@)",
    "`${$}`",
    "JSON.stringify($)",
    "Object.freeze($)",
    "Object.setPrototypeOf($, @)",
    "Object.defineProperty($, 'a', { get() { return @ } })",
    "Reflect.apply($, @, [@])",
    "new Proxy($, @)",
    "structuredClone($)",
    "Promise.all([$, @])",
    "Promise.resolve($)",
    "queueMicrotask(() => $)",
    "setTimeout($, @)",
    "clearTimeout($)",
    "console.log($, @)",
    "console.table($)",
    "console.error('%s %d %o %c', $, @)",
    "mux.fix.echo($)",
    "mux.fix[$](@)",
    "mux[$](@)",
    "mux.call($, @)",
    "mux.emit($)",
    "mux.read($, @)",
    "mux.read({ handle: $, offset: @ })",
    "new TextEncoder().encode($)",
    "new TextDecoder().decode($)",
    "new URL($, @)",
    "new URLSearchParams($)",
    "atob($)",
    "btoa($)",
    "AbortSignal.timeout($)",
    "(globalThis[$] = @)",
    "(Object.prototype.toJSON = () => $)",
    "(Array.prototype[0] = $)",
    "(Promise.prototype.then = $)",
    "(JSON.stringify = $)",
];

fn expression() -> impl Strategy<Value = String> {
    let leaf = select(VALUES).prop_map(|value| format!("({value})"));
    leaf.prop_recursive(5, 24, 2, |inner| {
        (select(FORMS), inner.clone(), inner).prop_map(|(form, one, other)| {
            // Replace both in one pass, because the inserted expressions may contain `$` and `@`.
            let piece = |c: char| match c {
                '$' => one.clone(),
                '@' => other.clone(),
                c => c.to_string(),
            };
            let form = form.replace("${", "\u{1}{");
            let text: String = form.chars().map(piece).collect();
            format!("({})", text.replace('\u{1}', "$"))
        })
    })
}

fn program() -> impl Strategy<Value = String> {
    let statement = (expression(), any::<bool>()).prop_map(|(expression, awaits)| {
        // A promise that never settles must not block the following statements.
        let awaits = if awaits {
            "await Promise.race([0, x])"
        } else {
            ""
        };
        format!("try {{ const x = {expression}; {awaits} }} catch {{}}\n")
    });
    let end = prop_oneof![
        expression().prop_map(|e| format!("return {e}")),
        expression().prop_map(|e| format!("throw {e}")),
    ];
    (vec(statement, 0..5), end).prop_map(|(statements, end)| statements.concat() + &end)
}

#[test]
fn fuzz_awkward_values_never_end_a_worker() {
    let runtime = Runtime::new().unwrap();
    let pool = pool_in(&runtime);
    let limits = ProgramLimits {
        wall: Duration::from_secs(2),
        ..ProgramLimits::default()
    };
    holds("expressions", 150, program(), |source| {
        let outcome = run(&runtime, &pool, &source, &limits).ok_or_else(|| broken("it hangs"))?;
        match outcome {
            Ok(result) => {
                let parsed = serde_json::from_str::<serde_json::Value>(&result);
                prop_assert!(parsed.is_ok(), "a result that is no JSON: {}", result);
            }
            Err(fault) => {
                let own = [
                    FaultKind::Internal,
                    FaultKind::Unavailable,
                    FaultKind::Syntax,
                ];
                prop_assert!(!own.contains(&fault.kind), "{:?}", fault);
                prop_assert!(!fault.message.is_empty(), "{:?}", fault);
            }
        }
        Ok(())
    });
}
