//! Diagnostics for messages observed from TypeScript 7.0.2.

use serde_json::{Value, json};

use super::*;

mod sure;

const TYPES: &str = "declare const mux: Mux;\ntype R = {\n  /** B. */\n  b: number;\n};\n  readonly v: Mux.V;\n  interface V {\n    get(): Promise<Closed<{}>>;\n  }\n";

/// The tree of a program, read with a stack as large as a worker's.
fn tree_of(plain: &str) -> SyntaxTree {
    let plain = plain.to_owned();
    let reader = std::thread::Builder::new().stack_size(64 << 20);
    let read = reader.spawn(move || mux_syntax::read_syntax(&plain));
    SyntaxTree::new(read.unwrap().join().unwrap())
}

/// The result for one compiler diagnostic at the mark in the program.
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
    let column = units + if line == 0 { WRAPPER_PREFIX.len() } else { 0 };
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
    judged(found, &plain, "/cache/check/00ff")
}

/// The result for these compiler diagnostics. Unknown names are values.
fn judged(found: Value, plain: &str, folder: &str) -> Vec<Diagnostic> {
    let found: Vec<LspDiagnostic> = serde_json::from_value(found).expect("diagnostics");
    let values = found.iter().map(|found| LspDiagnostic {
        range: found.range,
        severity: 1,
        code: ONLY_A_TYPE_CODE,
        message: String::new(),
    });
    let diagnostics = ProgramDiagnostics {
        with_type_names: values.collect(),
        found,
    };
    judge(&diagnostics, plain, &tree_of(plain), folder, TYPES)
}

fn severity(program: &str, code: u32, message: &str) -> Option<Severity> {
    found(program, code, message).first().map(|d| d.severity)
}

#[test]
fn positions_are_relative_to_the_program() {
    for (program, line, column) in [
        ("¦x", 1, 1),
        ("let y = 1; ¦x", 1, 12),
        ("/* 𝒳 */ ¦x", 1, 10),
        ("let y;\n  ¦x", 2, 3),
    ] {
        let diagnostics = found(program, 2304, "Cannot find name 'x'.");
        assert_eq!(
            (diagnostics[0].line, diagnostics[0].column),
            (line, column),
            "{program}"
        );
        assert_eq!(
            (diagnostics[0].end_line, diagnostics[0].end_column),
            (line, column + 1),
            "{program}"
        );
    }
    // A diagnostic in the wrapper is reported at the end of the program.
    let beyond = json!([{
        "range": { "start": { "line": 5, "character": 2 }, "end": { "line": 5, "character": 3 } },
        "severity": 1, "code": 1005, "message": "'}' expected.",
    }]);
    let diagnostics = judged(beyond, "if (a) {\n  b();\n\n", "/f");
    assert_eq!((diagnostics[0].line, diagnostics[0].column), (2, 7));
}

#[test]
fn irrelevant_advice_and_folder_paths_are_removed() {
    let diagnostics = found(
        "¦process",
        2591,
        "Cannot find name 'process'. Do you need to install type definitions for node? Try `npm i --save-dev @types/node` and then add 'node' to the types field in your tsconfig.",
    );
    assert_eq!(diagnostics[0].message, "Cannot find name 'process'.");
    let diagnostics = found(
        "¦x",
        2322,
        "Type 'number' is not assignable to type 'typeof import(\"/cache/check/00ff/s-1\")'.",
    );
    assert!(
        !diagnostics[0].message.contains("/cache"),
        "{diagnostics:?}"
    );
    let diagnostics = found("¦x", 2304, &"long ".repeat(1000));
    assert!(
        diagnostics[0].message.len() < MAX_MESSAGE_BYTES + 10
            && diagnostics[0].message.ends_with(" …")
    );
}

#[test]
fn marks_of_closed_types_are_removed_outside_of_quotes() {
    for (given, expected) in [
        (
            "Type 'Closed<{ a: Closed<{ f: () => Set<1>; }>[]; }>' is wrong.",
            "Type '{ a: { f: () => Set<1>; }[]; }' is wrong.",
        ),
        (
            "Type '\"Closed<x>\"' is not 'Closed<{}>'.",
            "Type '\"Closed<x>\"' is not '{}'.",
        ),
        (
            "Type 'NotClosed<1>' is wrong.",
            "Type 'NotClosed<1>' is wrong.",
        ),
    ] {
        assert_eq!(without_marks(given), expected);
    }
    let long = format!("Type '\"{}", "Closed<".repeat(100_000));
    assert!(found("¦x", 2322, &long)[0].message.ends_with(" …"));
}

#[test]
fn long_programs_are_judged_within_a_limit() {
    let terms = ["o.zz", "f(o.zz)", "(() => o.zz.x)()", "o.zz.zz.zz.zz"];
    for (term, separator) in terms.map(|term| [(term, " + "), (term, " ; ")]).concat() {
        let line = format!(
            "const o = await mux.v.get(); {}",
            vec![term; 3000].join(separator)
        );
        let at = line.find(".zz").unwrap() + 1;
        let found: Vec<Value> = (0..200).map(|n| json!({
            "range": {
                "start": { "line": 0, "character": WRAPPER_PREFIX.len() + at + n * (term.len() + 3) },
                "end": { "line": 0, "character": WRAPPER_PREFIX.len() + at + n * (term.len() + 3) + 2 },
            },
            "severity": 1, "code": 2339,
            "message": "Property 'zz' does not exist on type 'Closed<{ b: number; }>'.",
        })).collect();
        assert!(!judged(found.into(), &line, "/f").is_empty(), "{term}");
    }
}

#[test]
fn diagnostics_in_arguments_name_the_tool() {
    let diagnostics = found(
        "await mux.files.read({ ¦pth: 1 })",
        2561,
        "Object literal may only specify known properties, but 'pth' does not exist in type '{ path: string; }'. Did you mean to write 'path'?",
    );
    assert_eq!(diagnostics[0].tool, Some(("files".into(), "read".into())));
    let diagnostics = found(
        "await mux.files.¦raed({})",
        2551,
        "Property 'raed' does not exist on type 'Files'. Did you mean 'read'?",
    );
    assert_eq!(diagnostics[0].tool, Some(("files".into(), "raed".into())));
    assert!(diagnostics[0].is_unknown);
    let diagnostics = found(
        "await mux.api.¦pets.getPetById({ id: 1 })",
        2551,
        "Property 'pets' does not exist on type 'Api'. Did you mean 'pet'?",
    );
    let tool = ("api".into(), "pets.getPetById".into());
    assert_eq!(
        (&diagnostics[0].tool, diagnostics[0].is_unknown),
        (&Some(tool), true)
    );
    let diagnostics = found(
        "await mux.files.read({ path: r.¦pth })",
        2551,
        "Property 'pth' does not exist on type '{ path: string; }'. Did you mean 'path'?",
    );
    assert_eq!(diagnostics[0].tool, Some(("files".into(), "read".into())));
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
    judged(found.collect(), &"x\n".repeat(100), "/f")
}

#[test]
fn equal_diagnostics_are_merged() {
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
        let diagnostics = lines(given);
        assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
        assert!(
            diagnostics[0].message.ends_with(end),
            "{:?} {end}",
            diagnostics[0].message
        );
    }
}

#[test]
fn diagnostics_are_truncated_and_errors_kept_first() {
    let diagnostics = many((1..60).map(|n| {
        let mark = if n % 2 == 0 { "" } else { "?" };
        (n, format!("{mark}Cannot find name 'n{n}'."))
    }));
    assert_eq!(diagnostics.len(), MAX_DIAGNOSTICS);
    assert!(
        diagnostics
            .iter()
            .all(|found| found.severity == Severity::Error),
        "{diagnostics:#?}"
    );
    assert!(
        diagnostics[19]
            .message
            .ends_with("\n(39 more are not shown)")
    );
    assert!(diagnostics.is_sorted_by_key(|d| d.line));
    let warnings = many((1..60).map(|n| (n, format!("?number {n}"))));
    assert_eq!(warnings.len(), MAX_WARNINGS);
}

#[test]
fn compiler_without_its_types_is_detected() {
    let lost = json!([{
        "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } },
        "code": 2304, "message": "Cannot find name 'mux'.",
    }]);
    assert!(has_lost_its_types(
        &serde_json::from_value::<Vec<LspDiagnostic>>(lost).unwrap()
    ));
    assert!(!has_lost_its_types(&[]));
}
