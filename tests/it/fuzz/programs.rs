//! Random programs: TypeScript tokens in any order, some of them repeated many times.

use std::time::Duration;

use mux_chance::{broken, holds};
use mux_sandbox::ProgramLimits;
use mux_wire::FaultKind;
use proptest::{collection::vec, prelude::*, sample::select};
use tokio::runtime::Runtime;

use super::{pool_in, run};

const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "`",
    "${",
    "'",
    "\"",
    "/",
    "//",
    "/*",
    "*/",
    "\\",
    ";",
    ",",
    ".",
    "...",
    "?.",
    "??",
    "?",
    ":",
    "=",
    "=>",
    "==",
    "+",
    "-",
    "--",
    "!",
    "~",
    "**",
    "&&",
    "|",
    "|=",
    "#",
    "@",
    "0",
    "1n",
    "0x",
    "1e9",
    "NaN",
    "a",
    "b",
    "\u{61}",
    "\u{2028}",
    "\u{feff}",
    "\u{1f980}",
    "\n",
    " ",
    "async ",
    "await ",
    "yield ",
    "function ",
    "function* ",
    "class ",
    "extends ",
    "return ",
    "throw ",
    "new ",
    "new.target",
    "delete ",
    "typeof ",
    "void ",
    "in ",
    "of ",
    "let ",
    "const ",
    "var ",
    "using ",
    "for",
    "if",
    "else ",
    "do ",
    "try{",
    "catch{",
    "finally{",
    "switch",
    "case ",
    "with",
    "import ",
    "import(",
    "import.meta",
    "export ",
    "default ",
    "super",
    "this",
    "static ",
    "get ",
    "set ",
    "type ",
    "interface ",
    "enum ",
    "namespace ",
    "declare ",
    "abstract ",
    "as ",
    "satisfies ",
    "keyof ",
    "infer ",
    "is ",
    "asserts ",
    "<T>",
    ": any",
    "?: T",
    "as const",
    "!.",
    "private ",
    "readonly ",
    "override ",
    "mux",
    ".input",
    ".fix",
    ".emit(",
    ".read(",
    "console",
    ".log(",
    "Promise",
    "Proxy",
    "Symbol",
    "globalThis",
    "Error",
    "eval",
    "Object",
    ".then(",
    "label:",
    "break ",
    "continue ",
    "'use strict'",
];

fn program() -> impl Strategy<Value = String> {
    let times = prop_oneof![12 => Just(1_usize), 2 => 2..20_usize, 1 => 500..3000_usize];
    let piece = (select(PIECES), times).prop_map(|(piece, times)| piece.repeat(times));
    let any = prop_oneof![20 => piece, 1 => any::<String>()];
    vec(any, 0..25).prop_map(|pieces| pieces.concat())
}

#[test]
fn fuzz_any_text_runs_or_fails_with_a_position() {
    let runtime = Runtime::new().unwrap();
    let pool = pool_in(&runtime);
    let limits = ProgramLimits {
        wall: Duration::from_secs(1),
        ..ProgramLimits::default()
    };
    holds("programs", 120, program(), |source| {
        let outcome = run(&runtime, &pool, &source, &limits).ok_or_else(|| broken("it hangs"))?;
        let Err(fault) = outcome else {
            return Ok(());
        };
        if fault.kind == FaultKind::Internal {
            return Err(broken(format!("{fault:?}")));
        }
        // The position is in the source. An error at its end may be on the line after it.
        let lines = source.split(['\n', '\r', '\u{2028}', '\u{2029}']).count();
        if fault
            .line
            .is_some_and(|line| line as usize > lines + 1 || line == 0)
        {
            return Err(broken(format!("{lines} lines, but {fault:?}")));
        }
        Ok(())
    });
}
