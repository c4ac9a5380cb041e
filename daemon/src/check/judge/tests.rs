//! Judgement over what TypeScript 7.0.2 was seen to say.

use serde_json::json;

use super::*;

const TYPES: &str = "declare const mux: Mux;\ntype R = {\n  /** B. */\n  b: number;\n};\n";

/// One diagnostic, as the child sends it, at the mark in the program.
fn found(program: &str, code: u32, message: &str) -> Vec<Diagnostic> {
    let at = program.find('¦').expect("a mark");
    let plain = program.replace('¦', "");
    let before = &plain[..at];
    let line = before.matches('\n').count();
    let units = before
        .rsplit('\n')
        .next()
        .unwrap_or("")
        .encode_utf16()
        .count();
    let column = units + if line == 0 { PREFIX.len() } else { 0 };
    let word = plain[at..]
        .chars()
        .take_while(|c| c.is_alphanumeric())
        .count();
    let found = json!([{
        "range": {
            "start": { "line": line, "character": column },
            "end": { "line": line, "character": column + word },
        },
        "severity": 1, "code": code, "message": message,
    }]);
    let found = serde_json::from_value(found).expect("a diagnostic");
    judge(found, &plain, "/cache/check/00ff", TYPES)
}

fn severity(program: &str, code: u32, message: &str) -> Option<Severity> {
    found(program, code, message).first().map(|d| d.severity)
}

#[test]
fn only_what_is_surely_wrong_is_an_error() {
    use Severity::{Error, Syntax, Warning};
    for (program, code, message, expected) in [
        ("¦fetch()", 2304, "Cannot find name 'fetch'.", Some(Error)),
        (
            "r.¦itms",
            2551,
            "Property 'itms' does not exist on type '{ items: {}[]; }'. Did you mean 'items'?",
            Some(Error),
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
            Some(Error),
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
            Some(Error),
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
            Some(Error),
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
            Some(Error),
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
            Some(Error),
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

#[test]
fn places_are_the_programs_own() {
    for (program, line, column) in [
        ("¦x", 1, 1),
        ("let y = 1; ¦x", 1, 12),
        ("/* 𝒳 */ ¦x", 1, 10),
        ("let y;\n  ¦x", 2, 3),
    ] {
        let told = found(program, 2304, "Cannot find name 'x'.");
        assert_eq!((told[0].line, told[0].column), (line, column), "{program}");
        assert_eq!(
            (told[0].end_line, told[0].end_column),
            (line, column + 1),
            "{program}"
        );
    }
    // What is missed in the wrapper is missed at the end of the program.
    let beyond = json!([{
        "range": { "start": { "line": 5, "character": 2 }, "end": { "line": 5, "character": 3 } },
        "severity": 1, "code": 1005, "message": "'}' expected.",
    }]);
    let told = judge(
        serde_json::from_value(beyond).unwrap(),
        "if (a) {\n  b();\n\n",
        "/f",
        TYPES,
    );
    assert_eq!((told[0].line, told[0].column), (2, 7));
}

#[test]
fn advice_for_others_and_our_folders_are_not_told() {
    let told = found(
        "¦process",
        2591,
        "Cannot find name 'process'. Do you need to install type definitions for node? Try `npm i --save-dev @types/node` and then add 'node' to the types field in your tsconfig.",
    );
    assert_eq!(told[0].message, "Cannot find name 'process'.");
    let told = found(
        "¦x",
        2322,
        "Type 'number' is not assignable to type 'typeof import(\"/cache/check/00ff/s-1\")'.",
    );
    assert!(!told[0].message.contains("/cache"), "{told:?}");
    let told = found("¦x", 2304, &"long ".repeat(1000));
    assert!(told[0].message.len() < MESSAGE + 10 && told[0].message.ends_with(" …"));
}

#[test]
fn calls_are_named_for_what_stands_in_their_arguments() {
    let told = found(
        "await mux.files.read({ ¦pth: 1 })",
        2561,
        "Object literal may only specify known properties, but 'pth' does not exist in type '{ path: string; }'. Did you mean to write 'path'?",
    );
    assert_eq!(told[0].tool, Some(("files".into(), "read".into())));
    let told = found(
        "await mux.files.¦raed({})",
        2551,
        "Property 'raed' does not exist on type 'Files'. Did you mean 'read'?",
    );
    assert_eq!(told[0].tool, Some(("files".into(), "raed".into())));
    let told = found(
        "await mux.files.read({ path: r.¦pth })",
        2551,
        "Property 'pth' does not exist on type '{ path: string; }'. Did you mean 'path'?",
    );
    assert_eq!(told[0].tool, Some(("files".into(), "read".into())));
}

fn many(lines: impl Iterator<Item = (u32, String)>) -> Vec<Diagnostic> {
    let found = lines.map(|(line, message)| {
        json!({
            "range": {
                "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 1 },
            },
            "severity": 1, "code": if message.starts_with('?') { 2367 } else { 2304 }, "message": message,
        })
    });
    let found = serde_json::from_value(found.collect()).unwrap();
    judge(found, &"x\n".repeat(100), "/f", TYPES)
}

#[test]
fn the_same_mistake_is_told_once() {
    let lines = |lines: &[u32]| {
        many(
            lines
                .iter()
                .map(|line| (*line, "Cannot find name 'q'.".into())),
        )
    };
    for (given, end) in [
        (&[4, 4][..], "'q'."),
        (&[4, 7], "'q'. (and on line 8)"),
        (&[4, 7, 8], "'q'. (and on lines 8 and 9)"),
        (
            &[1, 2, 8, 13, 20, 21, 22],
            "'q'. (and on lines 3, 9, 14 and 3 more)",
        ),
    ] {
        let told = lines(given);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].message.ends_with(end),
            "{:?} {end}",
            told[0].message
        );
    }
}

#[test]
fn at_most_twenty_are_told_and_errors_first() {
    let told = many((1..60).map(|n| {
        let mark = if n % 2 == 0 { "" } else { "?" };
        (n, format!("{mark}number {n}"))
    }));
    assert_eq!(told.len(), MOST);
    assert!(told.iter().all(Diagnostic::is_error), "{told:#?}");
    assert!(
        told[19]
            .message
            .ends_with("\n(39 more mistakes are not shown)")
    );
    assert!(told.is_sorted_by_key(|d| d.line));
}

#[test]
fn a_compiler_without_its_types_is_noticed() {
    let lost = json!([{
        "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } },
        "code": 2304, "message": "Cannot find name 'mux'.",
    }]);
    assert!(has_lost_its_types(
        &serde_json::from_value::<Vec<Found>>(lost).unwrap()
    ));
    assert!(!has_lost_its_types(&[]));
}
