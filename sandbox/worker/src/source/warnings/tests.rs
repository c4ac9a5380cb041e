//! Programs and their warnings.

use std::{fmt::Write as _, thread};

use mux_wire::ProgramFindings;

use super::{super::check_source, MAX_WARNINGS};

/// Checks a program with another statement at its end: the last expression is awaited.
fn checked(source: &str) -> ProgramFindings {
    check_source(&format!("{source}\nnull;"))
}

/// The warnings of a program, one per line: position and message.
fn warned(source: &str) -> String {
    let checked = checked(source);
    assert_eq!(checked.errors, [], "{source}");
    let mut text = String::new();
    for warning in checked.warnings {
        let line = warning.line.unwrap();
        let column = warning.column.unwrap();
        writeln!(text, "{line}:{column} {}", warning.message).unwrap();
        assert!(warning.hint.is_some(), "{warning:?}");
    }
    text
}

#[track_caller]
fn warns(table: &[(&str, &[&str])]) {
    for (source, expected) in table {
        let warned = warned(source);
        assert_eq!(warned.lines().collect::<Vec<_>>(), *expected, "{source}");
    }
}

const LOST: &str = "is not awaited: it is cancelled when the program ends";
const LATER: &str = "is not awaited: its calls are cancelled when the program ends";

fn lost(place: &str, name: &str) -> String {
    format!("{place} `{name}(…)` {LOST}")
}

#[test]
fn last_call_of_a_program_is_its_value_and_is_awaited() {
    for (source, warnings) in [
        ("mux.files.write_file({ content });", 0),
        ("async function main() { await mux.a.b(); }\nmain();", 0),
        ("(async () => { await mux.a.b(); })()", 0),
        ("async () => { mux.a.b(); }", 1),
        ("[1].map((x) => mux.a.b(x));", 0),
        ("[1].forEach((x) => mux.a.b(x));", 1),
        ("mux.a.b();\nif (1) { mux.a.c(); }", 1),
        ("mux.a.b();\nfor (;;) { mux.a.c(); }", 2),
    ] {
        assert_eq!(check_source(source).warnings.len(), warnings, "{source}");
    }
}

#[test]
fn calls_that_are_not_awaited_are_warned_about() {
    for (source, place, name) in [
        (
            "mux.files.write_file({ content });",
            "1:1",
            "mux.files.write_file",
        ),
        (
            "const x: number = 1;\n  mux.a.b({ x } as any);",
            "2:3",
            "mux.a.b",
        ),
        ("mux.call(\"a.b\", {});", "1:1", "mux.call"),
        ("mux.call.raw('a.b')", "1:1", "mux.call.raw"),
        ("mux.read(handle)", "1:1", "mux.read"),
        ("mux[\"a.b\"]({})", "1:1", "mux[\"a.b\"]"),
        (
            "mux['my-server']['get-thing']()",
            "1:1",
            "mux[\"my-server\"][\"get-thing\"]",
        ),
        ("mux[server][tool](args)", "1:1", "mux[…][…]"),
        ("mux.a?.b?.({})", "1:1", "mux.a.b"),
        ("(mux.a.b())", "1:2", "mux.a.b"),
        ("if (1) mux.a.b();", "1:8", "mux.a.b"),
        ("for (const x of y) { mux.a.b(x); }", "1:22", "mux.a.b"),
        ("ok && mux.a.b()", "1:7", "mux.a.b"),
        ("ok ? mux.a.b() : null", "1:6", "mux.a.b"),
        (
            "mux.a.b().then(x => console.log(x)).catch(console.error)",
            "1:1",
            "mux.a.b",
        ),
        ("const id = mux.a.b();", "1:12", "mux.a.b"),
        ("Promise.all([mux.a.b()]);", "1:14", "mux.a.b"),
        ("/* 𝒳 */ mux.a.b();", "1:10", "mux.a.b"),
        (
            "const f: (a: '𝒳é') => void = g; mux.a.b();",
            "1:34",
            "mux.a.b",
        ),
        ("mux.a.b()!;", "1:1", "mux.a.b"),
        (
            "mux.resources.docs.list()",
            "1:1",
            "mux.resources.docs.list",
        ),
        ("await (async () => { mux.a.b(); })()", "1:22", "mux.a.b"),
    ] {
        warns(&[(source, &[&lost(place, name)])]);
    }
}

#[test]
fn calls_whose_promise_is_used_are_not_warned_about() {
    for source in [
        "await mux.a.b();",
        "return mux.a.b()",
        "const p = mux.a.b(); await p;",
        "let p; p = mux.a.b(); return p",
        "const all = []; all.push(mux.a.b()); await Promise.all(all)",
        "await Promise.all(list.map(x => mux.a.b(x)))",
        "void mux.a.b()",
        "const one = () => mux.a.b(); return one()",
        "const { x } = { x: mux.a.b() }; await x;",
        "await mux.a.b().then(x => x)",
        "mux.emit({ type: 'text', text: '' })",
        "mux.input.list.push(1); mux.input.f(); mux.input(); mux['input'].x()",
        "const mux = { a: { b() {} } }; mux.a.b()",
        "mux.a.b.c.d.e()",
        "x.mux.a.b()",
        "mux.a.b",
        "mux.files({})",
    ] {
        warns(&[(source, &[])]);
    }
}

#[test]
fn functions_that_call_tools_and_are_not_awaited_are_warned_about() {
    let each =
        "`forEach(…)` starts calls that are not awaited: they are cancelled when the program ends";
    let map = each.replace("forEach", "map");
    let main = format!("`main(…)` {LATER}");
    let this = format!("this function {LATER}");
    for (source, place, message) in [
        ("arr.map(x => mux.a.b(x));", "1:5", &*map),
        (
            "arr.map(async function (x) { await mux.a.b(x) });",
            "1:5",
            &*map,
        ),
        ("arr.forEach(x => mux.a.b(x));", "1:5", each),
        (
            "arr.filter(Boolean).forEach(async (x) => {\n  await mux.a.b(x);\n});",
            "1:21",
            each,
        ),
        ("const done = arr.map(x => mux.a.b(x));", "1:18", &*map),
        ("Promise.all(arr.map(x => mux.a.b(x)));", "1:17", &*map),
        (
            "async function main() { await mux.a.b() }\nmain();",
            "2:1",
            &*main,
        ),
        (
            "const main = async () => { await mux.a.b() };\nmain().catch(console.error);",
            "2:1",
            &*main,
        ),
        ("const main = (x) => mux.a.b(x);\nmain(1);", "2:1", &*main),
        (
            "async function main() { await Promise.all(l.map(x => mux.a.b(x))) }\nmain();",
            "2:1",
            &*main,
        ),
        ("(async () => { await mux.a.b() })();", "1:1", &*this),
    ] {
        warns(&[(source, &[&format!("{place} {message}")])]);
    }
    for source in [
        "arr.forEach(x => log(x)); arr.map(x => x + 1);",
        "arr.forEach(x => all.push(mux.a.b(x)));",
        "arr.forEach(async (x) => { await sleep(x) });",
        "async function main() { await mux.a.b() }\nawait main();",
        "async function main() { await sleep() }\nmain();",
        "const log = (x) => all.push(mux.a.b(x)); log(1);",
        "function start() { all.push(mux.a.b()) } start();",
        "async function* pages() { yield await mux.a.b() } pages();",
        "let main = async () => mux.a.b(); main = () => 1; main();",
        "(async () => { console.log(1) })();",
    ] {
        warns(&[(source, &[])]);
    }
}

#[test]
fn missing_globals_are_warned_about() {
    warns(&[
        (
            "const r = await fetch(url);\nconst s = await fetch(url);",
            &["1:17 there is no `fetch` here"],
        ),
        (
            "return process.env.HOME + fs.readFileSync(__dirname)",
            &[
                "1:8 there is no `process` here",
                "1:27 there is no `fs` here",
                "1:43 there is no `__dirname` here",
            ],
        ),
        (
            "const fs = require('fs');\nfs.readFileSync('x')",
            &["1:12 there is no `require` here"],
        ),
        (
            "const f = await import('node:fs'); f",
            &["1:17 there are no modules to import here"],
        ),
        (
            "eval('1'); new Function('return 1')(); Function('x')",
            &[
                "1:1 there is no `eval` here",
                "1:16 code cannot be created from strings here",
                "1:40 code cannot be created from strings here",
            ],
        ),
        ("return { window }", &["1:10 there is no `window` here"]),
        ("`${Deno.cwd()}`", &["1:4 there is no `Deno` here"]),
        ("if (typeof process !== 'undefined') process.exit()", &[]),
        ("const fetch = (x) => x; fetch(1)", &[]),
        (
            "const go = ({ path, os = 1 }) => path + os; go({ path: 1 })",
            &[],
        ),
        ("try { x() } catch (global) { global.y }", &[]),
        (
            "const o = { fetch: 1, path() {} }; o.fetch + o.process",
            &[],
        ),
        ("let b: Buffer | undefined; return b as Window", &[]),
        ("return x instanceof Function", &[]),
        (
            "function self() { return 1 } class File {} return self() + new File()",
            &[],
        ),
    ]);
}

#[test]
fn hints_name_the_replacement() {
    for (source, part) in [
        ("mux.a.b()", "put `await` before it"),
        ("list.map(x => mux.a.b(x))", "await Promise.all(list.map("),
        (
            "list.forEach(async x => { await mux.a.b(x) })",
            "for (const item of list)",
        ),
        ("process.argv", "`mux.input`"),
        ("require('axios')", "no network"),
        ("require('node:fs/promises')", "no files"),
        ("require(name)", "cannot import"),
        ("await import('crypto')", "crypto.randomUUID()"),
        ("Buffer.from(x)", "Uint8Array"),
        ("setImmediate(f)", "setTimeout"),
    ] {
        let warnings = checked(source).warnings;
        let hint = warnings[0].hint.clone().unwrap();
        assert!(hint.contains(part), "{source}: {hint}");
    }
}

#[test]
fn program_that_does_not_parse_has_no_warnings() {
    let checked = checked("mux.a.b();\nlet x = ;");
    assert_eq!((checked.errors.len(), checked.warnings.len()), (1, 0));
}

#[test]
fn warnings_are_limited_and_sorted() {
    let source = "mux.a.b();\n".repeat(10_000);
    let warnings = checked(&source).warnings;
    assert_eq!(warnings.len(), MAX_WARNINGS);
    let lines: Vec<u32> = warnings.iter().filter_map(|w| w.line).collect();
    assert!(lines.is_sorted(), "{lines:?}");
    let long = format!("mux.{}.b()", "a".repeat(100_000));
    assert!(checked(&long).warnings[0].message.len() < 200);
}

/// The maximum nesting, and chains, which only the parser's stack limits.
#[test]
fn deep_programs_do_not_overflow_the_stack() {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let sources = [
        nested("(", "await fetch()", ")", 498),
        nested("[", "fetch()", "]", 499),
        nested("{", "fetch();", "}", 499),
        nested("if (1) {", "fetch();", "}", 499),
        nested("f(() => {", "fetch();", "})", 249),
        nested("f(async function () {", "await fetch();", "});", 249),
        nested("class A { m() {", "fetch();", "} }", 249),
        nested("`${", "fetch()", "}`", 499),
        nested("({ a: ", "fetch()", "})", 249),
        nested("const [", "x = fetch()", "] = y;", 1),
        format!("fetch();{}", nested("!", "x", "", 5_000)),
        format!("fetch();x{}", "+ y".repeat(20_000)),
        format!("fetch();x{}", ".y()".repeat(20_000)),
        format!("fetch();{}x", "a ? b : ".repeat(3_000)),
        format!("fetch();{}x", "a = ".repeat(3_000)),
        format!("fetch();{}x", "a => ".repeat(3_000)),
        format!("fetch();{};", "if (a) b; else ".repeat(3_000)),
    ];
    // The stack size of the script's thread.
    let thread = thread::Builder::new()
        .stack_size(crate::SCRIPT_STACK_BYTES)
        .spawn(move || {
            for source in sources {
                let start = &source[..source.len().min(40)];
                assert!(warned(&source).contains("no `fetch`"), "{start}");
            }
        });
    thread.unwrap().join().unwrap();
}

#[test]
fn long_programs_are_checked_to_the_end() {
    let line =
        "const v = await mux.files.read_text_file({ path: `${dir}/a.txt`, head: 10 }); use(v);\n";
    let mut source: String = format!("{{ {line} }}\n").repeat((1 << 20) / (line.len() + 5) - 1);
    source.push_str("mux.a.b();");
    assert!(source.len() > 1_000_000);
    let lines = source.lines().count();
    assert_eq!(warned(&source), format!("{lines}:1 `mux.a.b(…)` {LOST}\n"));
}
