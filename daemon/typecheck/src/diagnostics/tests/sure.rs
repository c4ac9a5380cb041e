//! Which diagnostics are errors, warnings, or not reported.

use super::*;

#[test]
fn only_certain_failures_are_errors() {
    use Severity::{Error, Syntax, Warning};
    for (program, code, message, expected) in [
        ("¦fetch()", 2304, "Cannot find name 'fetch'.", Some(Error)),
        (
            "r.¦itms",
            2551,
            "Property 'itms' does not exist on type '{ items: {}[]; }'. Did you mean 'items'?",
            Some(Warning),
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type '{}'.",
            None,
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type 'never'.",
            None,
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type 'A | B'.\n  Property 'a' does not exist on type 'A'.",
            Some(Warning),
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type 'Seen<{ b: number; }>'.",
            Some(Warning),
        ),
        (
            "r.¦a = 1",
            2339,
            "Property 'a' does not exist on type '{ b: number; }'.",
            Some(Warning),
        ),
        (
            "r.a = 1; r.¦a",
            2339,
            "Property 'a' does not exist on type '{ b: number; }'.",
            Some(Warning),
        ),
        (
            "r.a == 1; r.¦a",
            2339,
            "Property 'a' does not exist on type '{ b: number; }'.",
            Some(Warning),
        ),
        (
            "r.¦map(f)",
            2339,
            "Property 'map' does not exist on type 'MapIterator<number>'.",
            Some(Warning),
        ),
        (
            "r.¦toHex()",
            2339,
            "Property 'toHex' does not exist on type 'Uint8Array<ArrayBuffer>'.",
            Some(Warning),
        ),
        (
            "Promise.¦try(f)",
            2550,
            "Property 'try' does not exist on type 'PromiseConstructor'. Do you need to change your target library? Try changing the 'lib' compiler option to 'es2025' or later.",
            Some(Warning),
        ),
        (
            "¦Iterator.from(x)",
            2693,
            "'Iterator' only refers to a type, but is being used as a value here.",
            Some(Warning),
        ),
        (
            "¦s.length",
            18048,
            "'s' is possibly 'undefined'.",
            Some(Warning),
        ),
        ("¦z.foo", 18047, "'z' is possibly 'null'.", Some(Warning)),
        (
            "(¦a) => 1",
            7006,
            "Parameter 'a' implicitly has an 'any' type.",
            None,
        ),
        (
            "JSON.parse(¦s)",
            2345,
            "Argument of type 'string | undefined' is not assignable to parameter of type 'string'.\n  Type 'undefined' is not assignable to type 'string'.",
            Some(Warning),
        ),
        (
            "new Date(¦s)",
            2769,
            "No overload matches this call.\n  The last overload gave the following error.\n    Argument of type 'string | undefined' is not assignable to parameter of type 'string | number'.\n      Type 'undefined' is not assignable to type 'string | number'.",
            Some(Warning),
        ),
        (
            "mux.a.b({ ¦p: undefined })",
            2322,
            "Type 'undefined' is not assignable to type 'string'.",
            Some(Error),
        ),
        (
            "mux.a.b({ ¦p: 1 })",
            2322,
            "Type 'number' is not assignable to type 'string'.",
            Some(Error),
        ),
        (
            "const ¦a: string = 1",
            2322,
            "Type 'number' is not assignable to type 'string'.",
            Some(Warning),
        ),
        (
            "let a = ''; ¦a = 1",
            2322,
            "Type 'number' is not assignable to type 'string'.",
            Some(Warning),
        ),
        (
            "f(¦u)",
            2345,
            "Argument of type 'unknown' is not assignable to parameter of type 'string'.",
            Some(Warning),
        ),
        (
            "o.items.push(¦x)",
            2345,
            "Argument of type 'string' is not assignable to parameter of type 'never'.",
            None,
        ),
        (
            "[].concat(¦x)",
            2769,
            "No overload matches this call.\n  The last overload gave the following error.\n    Argument of type 'string' is not assignable to parameter of type 'ConcatArray<never>'.",
            None,
        ),
        (
            "o.¦best = 5",
            2322,
            "Type '5' is not assignable to type 'null'.",
            Some(Warning),
        ),
        (
            "new Promise(r => ¦r())",
            2794,
            "Expected 1 arguments, but got 0. Did you forget to include 'void' in your type argument to 'Promise'?",
            None,
        ),
        (
            "¦f(1)",
            2554,
            "Expected 2 arguments, but got 1.",
            Some(Warning),
        ),
        (
            "mux.a.¦b()",
            2554,
            "Expected 1 arguments, but got 0.",
            Some(Error),
        ),
        (
            "mux.a.b({}, ¦2)",
            2554,
            "Expected 1 arguments, but got 2.",
            Some(Warning),
        ),
        (
            "await mux.¦read()",
            2554,
            "Expected 1-2 arguments, but got 0.",
            Some(Error),
        ),
        (
            "r.¦a",
            2339,
            "Property 'a' does not exist on type '{ at: number; }'.",
            Some(Warning),
        ),
        (
            "JSON.¦stringfy(x)",
            2551,
            "Property 'stringfy' does not exist on type 'JSON'. Did you mean 'stringify'?",
            Some(Error),
        ),
        (
            "mux.call(¦path)",
            2345,
            "Argument of type 'string | { a: number; }' is not assignable to parameter of type 'string'.\n  Type '{ a: number; }' is not assignable to type 'string'.",
            Some(Warning),
        ),
        (
            "Object.keys(¦byTeam)",
            2769,
            "No overload matches this call.\n  The last overload gave the following error.\n    Argument of type 'null' is not assignable to parameter of type 'object'.",
            Some(Warning),
        ),
        (
            "mux.a.b({ ¦p: null })",
            2322,
            "Type 'null' is not assignable to type 'string'.",
            Some(Error),
        ),
        (
            "¦text * 60",
            2362,
            "The left-hand side of an arithmetic operation must be of type 'any', 'number', 'bigint' or an enum type.",
            Some(Warning),
        ),
        (
            "¦1 === 'a'",
            2367,
            "This comparison appears to be unintentional because the types 'number' and 'string' have no overlap.",
            Some(Warning),
        ),
        (
            "¦d - e",
            2362,
            "The left-hand side of an arithmetic operation must be of type 'any', 'number', 'bigint' or an enum type.",
            Some(Warning),
        ),
        (
            "const ¦= 1",
            1134,
            "Variable declaration expected.",
            Some(Syntax),
        ),
        (
            "1 ¦satisfies string",
            1360,
            "Type 'number' does not satisfy the expected type 'string'.",
            Some(Warning),
        ),
        (
            "class A { ¦x: number }",
            2564,
            "Property 'x' has no initializer and is not definitely assigned in the constructor.",
            None,
        ),
        ("¦x", 99999, "A message of the future.", Some(Warning)),
    ] {
        assert_eq!(
            severity(program, code, message),
            expected,
            "{program}: {message}"
        );
    }
}

const CLOSED: &str = "Property 'a' does not exist on type 'Closed<{ b: number; }>'.";

/// Expressions that certainly have the type that the compiler infers.
const DECLARED: &str = "const r = await mux.v.get(), rs = r.list, s = { r }; ";

#[test]
fn missing_member_is_an_error_if_the_program_certainly_fails() {
    use Severity::{Error, Warning};
    for (program, expected) in [
        ("r.¦a.x", Error),
        ("r.¦a()", Error),
        ("(await mux.v.get({ k: f() })).¦a.x", Error),
        ("for (const x of r.¦a) {}", Error),
        ("[...r.¦a]", Error),
        ("Object.keys(r.¦a)", Error),
        ("const a = r.¦a; a.map(f)", Error),
        ("const { ¦a } = r; a.map(f)", Error),
        ("const { ¦a: list } = r; list.map(f)", Error),
        ("async function f(): Promise<void> { r.¦a.x } f()", Error),
        ("const f = () => { r.¦a.x }; f(1)", Error),
        ("const f = (q) => { if (q) { q() } r.¦a.x }; f(1)", Error),
        ("function main() { return r.¦a.x }", Error),
        ("const f = async () => r.¦a.x; return await f()", Error),
        (
            "const f = async () => r.¦a.x; return Promise.all([f()])",
            Error,
        ),
        (
            "const f = async () => r.¦a.x; const g = () => f(); return await g()",
            Error,
        ),
        ("await (async () => { r.¦a.x })()", Error),
        ("await new Promise((done) => r.¦a.x)", Error),
        ("await r.b.then(() => r.¦a.x)", Error),
        ("try { r.¦a.x } catch (e) { throw e }", Error),
        ("try { r.¦a.x } finally { f() }", Error),
        ("do { r.¦a.x } while (q)", Error),
        ("if (r) { b() } r.¦a.x", Error),
        ("if (r) throw e\nr.¦a.x", Error),
        ("rs.forEach((x) => { if (x) return; f(x) }); r.¦a.x", Error),
        (
            "for (const x of rs) { if (x) continue; f(x) } r.¦a.x",
            Error,
        ),
        (
            "for (const x of rs) { switch (x) { case 1: break } } r.¦a.x",
            Error,
        ),
        ("const n = 1 / r.of / r.¦a.x", Error),
        ("const\u{a0}n = r.¦a.x", Error),
        ("if (r) return 1\nr.¦a.x", Warning),
        ("rs.map((r) => r.¦a.x)", Warning),
        ("for (const r of rs) { r.¦a.x }", Warning),
        ("for (const x of rs) r.¦a.x", Warning),
        ("for await (const x of rs) r.¦a.x", Warning),
        ("for (let i = 0; i < 1; i += r.¦a.x) {}", Warning),
        ("while (q) r.¦a.x", Warning),
        ("class C { m(q) { r.¦a.x } } new C().m(1)", Warning),
        ("const o = { get p() { return r.¦a.x } }; o.p", Warning),
        ("const o = { f: () => r.¦a.x }; o.f()", Warning),
        ("function* f() { r.¦a.x } f()", Warning),
        ("const f = function* () { r.¦a.x }; f()", Warning),
        ("const out = { log() { r.¦a.x } }; console.log(1)", Warning),
        ("function log() { r.¦a.x } console.log(1)", Warning),
        ("function f() { r.¦a.x } { const f = g; f() }", Warning),
        ("const f = () => r.¦a.x; rs.map(f)", Warning),
        ("const f = (() => r.¦a.x)", Warning),
        ("return { f: () => r.¦a.x }", Warning),
        ("() => r.¦a.x; f()", Warning),
        ("try { return r.¦a.x } finally { return 1 }", Warning),
        (
            "try { r.¦a.x } catch (e) { for (const x of e) { return x } throw e }",
            Warning,
        ),
        ("await safe(() => r.¦a.x)", Warning),
        ("async function f() { r.¦a.x } await f().catch(g)", Warning),
        ("async function f() { r.¦a.x } f(); g()", Warning),
        (
            "const jobs = rs.map(async (q) => r.¦a.x); await Promise.allSettled(jobs)",
            Warning,
        ),
        (
            "const p = (async () => r.¦a.x)(); try { await p } catch {}",
            Warning,
        ),
        (
            "const p = Promise.resolve().then(() => r.¦a.x); await p.catch(() => 0)",
            Warning,
        ),
        (
            "const work = async (id) => r.¦a.x; for (const id of rs) all.push(work(id))",
            Warning,
        ),
        (
            "async function f() { r.¦a.x } const g = () => f(); g(); 1",
            Warning,
        ),
        (
            "const f = async () => r.¦a.x; await f().then(g, h)",
            Warning,
        ),
        (
            "await Promise.allSettled(rs.map(async (q) => r.¦a.x))",
            Warning,
        ),
        (
            "await Promise.allSettled([(async () => r.¦a.x)()])",
            Warning,
        ),
        ("q?.map((x) => r.¦a.x)", Warning),
        ("return r.¦a", Warning),
        ("r.¦a ?? r.b", Warning),
        ("r.¦a || []", Warning),
        ("r.¦a?.x", Warning),
        ("if (r.¦a) r.a.x", Warning),
        ("if (r.a) r.¦a.x", Warning),
        ("\"a\" in r ? r.¦a.x : 1", Warning),
        ("if (q) r.¦a.x", Warning),
        ("if (q) { r.¦a.x }", Warning),
        ("if (q) {} else r.¦a.x", Warning),
        ("q && r.¦a.x", Warning),
        ("q ? r.¦a.x : 1", Warning),
        (
            "switch (q) { case 1: f(); r.¦a.x; break; default: }",
            Warning,
        ),
        (
            "for (;;) { switch (q) { case 1: continue } r.¦a.x }",
            Warning,
        ),
        (
            "do { switch (q) { case 1: continue } r.¦a.x } while (q)",
            Warning,
        ),
        (
            "l: do { for (;;) { continue l } r.¦a.x } while (q)",
            Warning,
        ),
        ("l: { for (;;) { break l } r.¦a.x }", Warning),
        ("try { r.¦a.x } catch {}", Warning),
        ("try { f() } catch { r.¦a.x }", Warning),
        ("f().catch(() => r.¦a.x)", Warning),
        ("f().then(g, () => r.¦a.x)", Warning),
        ("function unused() { r.¦a.x }", Warning),
        ("function f() { r.¦a.x } if (q) f(1)", Warning),
        ("function f(x = r.¦a.x) {} f(1)", Warning),
        ("function f(x = r.¦a.x): string {} f(1)", Warning),
        ("const { q = r.¦a.x } = s", Warning),
        ("for (const { q = r.¦a.x } of rs) {}", Warning),
        ("return 1; r.¦a.x", Warning),
        ("return /* \n */ 1; r.¦a.x", Warning),
        ("if (q) f() /*\n*/ return\nr.¦a.x", Warning),
        ("r = r.b; r.¦a.x", Warning),
        ("s.r = 1; s.r.¦a.x", Warning),
        ("r.a = 1; r.¦a.x", Warning),
        ("Object.assign(r, f()); r.¦a.x", Warning),
        ("const { ¦a = [] } = r; a.map(f)", Warning),
        ("let { ¦a } = r; a.map(f)", Warning),
        ("const { ¦a } = r; a ?? r", Warning),
        ("const { ¦a } = f(); a.map(f)", Warning),
        ("const a = r.¦a; if (!a) return; a.map(f)", Warning),
        ("const b = r.¦a; const c = b; const b = c", Warning),
        ("const x = { ...r.¦a }", Warning),
        ("f().¦a.x", Warning),
        ("r.¦a.x; f(", Warning),
        ("r.¦a.x; f(]", Warning),
    ] {
        let program = format!("{DECLARED}{program}");
        let found = severity(&program, 2339, CLOSED);
        assert_eq!(found, Some(expected), "{program}");
    }
}

#[test]
fn member_of_a_promise_is_an_error_if_it_is_one() {
    use Severity::{Error, Warning};
    for (program, expected) in [
        ("mux.v.get().¦a.x", Error),
        ("const p = mux.v.get(); p.¦a.x", Error),
        ("async function f(q) {} f(q).¦a.x", Error),
        ("const f = async (q) => 1; const p = f(q); p.¦a.x", Error),
        ("const p = f(); p.¦a.x", Warning),
        ("const p: Promise<1> = f(); p.¦a.x", Warning),
        ("function f(): Promise<1> {} f().¦a.x", Warning),
    ] {
        let message = "Property 'a' does not exist on type 'Promise<number>'.";
        assert_eq!(
            severity(program, 2339, message),
            Some(expected),
            "{program}"
        );
    }
}

#[test]
fn second_declaration_for_the_compiler_is_a_warning() {
    let message = "Cannot redeclare block-scoped variable 'x'.";
    let of = |program| severity(program, 2451, message);
    assert_eq!(of("let x; let ¦x = 5"), Some(Severity::Error));
    assert_eq!(
        of("declare let x: any; const ¦x = 5"),
        Some(Severity::Warning)
    );
}

#[test]
fn unknown_global_is_an_error_unless_it_is_guarded() {
    use Severity::{Error, Warning};
    for (program, expected) in [
        ("¦process.env", Error),
        ("¦process?.env", Error),
        ("f(¦process.env)", Error),
        ("typeof ¦process", Warning),
        ("typeof process !== \"undefined\" && ¦process.env", Warning),
        (
            "const node = typeof process === \"object\"; if (node) ¦process.exit()",
            Warning,
        ),
        ("globalThis.process ? ¦process.env : 1", Warning),
        ("if (\"process\" in globalThis) ¦process.exit()", Warning),
        ("try { ¦process.exit() } catch {}", Warning),
        ("for (const i of []) ¦process.exit()", Warning),
        ("[].map(() => ¦process.exit())", Warning),
    ] {
        let message = "Cannot find name 'process'.";
        assert_eq!(
            severity(program, 2304, message),
            Some(expected),
            "{program}"
        );
    }
}

#[test]
fn unknown_name_of_a_type_is_a_warning() {
    for (name, expected) in [("Issue", Some(Severity::Warning)), ("RequestInit", None)] {
        let found = vec![LspDiagnostic {
            range: serde_json::from_value(json!({
                "start": { "line": 0, "character": 3 }, "end": { "line": 0, "character": 8 },
            }))
            .unwrap(),
            severity: 1,
            code: 2304,
            message: format!("Cannot find name '{name}'."),
        }];
        assert_eq!(declared_type_names(&found), format!("type {name} = any;\n"));
        let diagnostics = ProgramDiagnostics {
            found,
            with_type_names: Vec::new(),
        };
        let program = "let x: Issue";
        let judged = judge(&diagnostics, program, &tree_of(program), "/f", TYPES);
        assert_eq!(judged.first().map(|found| found.severity), expected);
    }
}

#[test]
fn argument_is_an_error_if_the_tool_certainly_refuses_it() {
    use Severity::{Error, Warning};
    let unknown = |target: &str| {
        format!(
            "Object literal may only specify known properties, and 'x' does not exist in type '{target}'."
        )
    };
    let missing = "Argument of type '{}' is not assignable to parameter of type '{ a: string; }'.\n  Property 'a' is missing in type '{}' but required in type '{ a: string; }'.";
    let kind = "Type 'number' is not assignable to type 'string'.";
    let widened = "Type 'string' is not assignable to type '\"a\" | \"b\"'.";
    for (program, code, message, expected) in [
        (
            "mux.a.b({ ¦x: 1 })",
            2353,
            unknown("Closed<{ a: string; }>"),
            Error,
        ),
        (
            "mux.a.b({ ¦x: 1 })",
            2353,
            unknown("Closed<{ a: 1; }> | Closed<{ b: 1; }>"),
            Error,
        ),
        (
            "mux.a.b({ ¦x: 1 })",
            2353,
            unknown("{ a?: string; }"),
            Warning,
        ),
        ("mux.a.b({ ¦x: 1 })", 2353, unknown("{ a: string; }"), Error),
        (
            "mux.a.b({ ...y, ¦x: 1 })",
            2353,
            unknown("{ a: string; }"),
            Warning,
        ),
        (
            "f({ ¦x: 1 })",
            2353,
            unknown("Closed<{ a: string; }>"),
            Warning,
        ),
        (
            "mux.a.b({ y: f({ ¦x: 1 }) })",
            2353,
            unknown("Closed<{ a: string; }>"),
            Warning,
        ),
        ("mux.a.b(¦{})", 2345, missing.to_owned(), Error),
        ("mux.a.b(¦{ ...y })", 2345, missing.to_owned(), Warning),
        ("const y = {}; mux.a.b(¦y)", 2345, missing.to_owned(), Error),
        (
            "const y = {}; y.a = 1; mux.a.b(¦y)",
            2345,
            missing.to_owned(),
            Warning,
        ),
        (
            "const y = {}; f(y); mux.a.b(¦y)",
            2345,
            missing.to_owned(),
            Warning,
        ),
        (
            "const y = f(); mux.a.b(¦y)",
            2345,
            missing.to_owned(),
            Warning,
        ),
        ("mux.a.b({ ¦p: 5 })", 2322, kind.to_owned(), Error),
        (
            "const names = [1].map(String); mux.a.b(¦names)",
            2345,
            "Property 'a' is missing in type 'string[]' but required in type 'Closed<{ a: string; }>'.".to_owned(),
            Error,
        ),
        ("mux.a.b([¦5])", 2322, kind.to_owned(), Error),
        ("const p = 5; mux.a.b({ ¦p })", 2322, kind.to_owned(), Error),
        (
            "const p = 5; mux.a.b({ q: ¦p })",
            2322,
            kind.to_owned(),
            Error,
        ),
        (
            "const t = mux.a; t.b({ ¦p: 5 })",
            2322,
            kind.to_owned(),
            Error,
        ),
        (
            "const { b } = mux.a; b({ ¦p: 5 })",
            2322,
            kind.to_owned(),
            Error,
        ),
        (
            "const p: number = f(); mux.a.b({ ¦p })",
            2322,
            kind.to_owned(),
            Warning,
        ),
        (
            "let p = 5; p = f(); mux.a.b({ ¦p })",
            2322,
            kind.to_owned(),
            Warning,
        ),
        (
            "const p = f() as number; mux.a.b({ ¦p })",
            2322,
            kind.to_owned(),
            Warning,
        ),
        (
            "const f = (p) => mux.a.b({ ¦p })",
            2322,
            kind.to_owned(),
            Warning,
        ),
        ("mux.a.b({ ¦p: f() })", 2322, kind.to_owned(), Warning),
        ("g({ ¦p: 5 })", 2322, kind.to_owned(), Warning),
        (
            "const p = `${x}`; mux.a.b({ ¦p })",
            2322,
            widened.to_owned(),
            Warning,
        ),
        (
            "for (const p of [\"a\"]) mux.a.b({ ¦p })",
            2322,
            widened.to_owned(),
            Warning,
        ),
    ] {
        assert_eq!(
            severity(program, code, &message),
            Some(expected),
            "{program}: {message}"
        );
    }
}

#[test]
fn type_is_certain_only_if_its_origin_shows_it() {
    use Severity::{Error, Warning};
    for (program, expected) in [
        ("\"x\".¦toUppercase()", Error),
        ("const s = \"x\"; s.trim().¦toUppercase()", Error),
        ("const list = [\"x\"]; list[0].¦toUppercase()", Error),
        ("const s = `${f()} ${g()}`; s.¦toUppercase()", Error),
        (
            "const s = Object.keys({ a: f.b }.a)[0]; s.¦toUppercase()",
            Warning,
        ),
        ("[\"x\"].map((s) => s.¦toUppercase())", Warning),
        ("for (const s of [\"x\"]) s.¦toUppercase()", Warning),
        (
            "const list = [\"x\"]; list.push(f()); list[1].¦toUppercase()",
            Warning,
        ),
        (
            "const list = [\"x\"]; list[0] = f(); list[0].¦toUppercase()",
            Warning,
        ),
        (
            "const data: Record<string, string> = JSON.parse(t); Object.values(data)[0].¦toUppercase()",
            Warning,
        ),
        (
            "[...new Set<string>(JSON.parse(t))][0].¦toUppercase()",
            Warning,
        ),
        ("const s = [mk(1)]; s[0].¦toUppercase()", Warning),
        ("const s = true && other; s.¦toUppercase()", Warning),
        ("const s = ok ? raw : \"\"; s.¦toUppercase()", Warning),
        (
            "const s = [\"x\"].find((x): x is string => true); s.¦toUppercase()",
            Warning,
        ),
        ("const s: string = f(); s.¦toUppercase()", Warning),
        ("const s = this; s.¦toUppercase()", Warning),
        ("const s = await import(\"x\"); s.¦toUppercase()", Warning),
        ("let { s = f() } = { s: \"x\" }; s.¦toUppercase()", Warning),
        ("const s = f(); s.¦toUppercase()", Warning),
        ("let s = \"x\"; s = f(s); s.¦toUppercase()", Warning),
        (
            "const f = (s: string) => s.¦toUppercase(); f(\"x\")",
            Warning,
        ),
        (
            "const s = JSON.parse(t) as string; s.¦toUppercase()",
            Warning,
        ),
        (
            "String.prototype.toUppercase = f; \"x\".¦toUppercase()",
            Warning,
        ),
    ] {
        let message =
            "Property 'toUppercase' does not exist on type 'string'. Did you mean 'toUpperCase'?";
        assert_eq!(
            severity(program, 2551, message),
            Some(expected),
            "{program}"
        );
    }
}
