//! What will probably go wrong in a program that parses: calls that nobody awaits, and names that a
//! program does not find here. No types are needed to see it, and no name is resolved: one that is
//! declared anywhere in the program is its own.
//!
//! Invariant: a warning never changes what a program does, and it costs bounded time and stack,
//! whatever the program: expressions and statements below [`DEEPEST`] are not looked at.

mod calls;
mod findings;
mod survey;

use mux_wire::Fault;
use swc_common::BytePos;
use swc_ecma_ast::{EsVersion, Script};
use swc_ecma_parser::{EsSyntax, Parser, StringInput, Syntax, lexer::Lexer};
use swc_ecma_visit::VisitWith as _;

use self::{findings::Findings, survey::Survey};

/// So many are told of one program.
const MOST: usize = 100;

/// Expressions, statements and patterns within each other that are looked at. Brackets end at
/// [`super::nesting::MOST`], and one of them holds at most a few of these.
const DEEPEST: usize = 4000;

/// Where the text begins for the parser, for which 0 is no place.
const START: BytePos = BytePos(1);

/// The warnings for a script that [`super::prepare`] made, by their place.
pub(super) fn of(script: &str) -> Vec<Fault> {
    let Some(tree) = parse(script) else {
        return Vec::new();
    };
    let mut survey = Survey::default();
    tree.visit_with(&mut survey);
    let mut findings = Findings::new(&survey);
    tree.visit_with(&mut findings);
    placed(script, findings.found)
}

/// The types are blank by now, so that this is plain JavaScript.
fn parse(script: &str) -> Option<Script> {
    let end = BytePos(START.0.checked_add(u32::try_from(script.len()).ok()?)?);
    let lexer = Lexer::new(
        Syntax::Es(EsSyntax::default()),
        EsVersion::latest(),
        StringInput::new(script, START, end),
        None,
    );
    Parser::new_from(lexer).parse_script().ok()
}

/// Gives each its line and column, in one pass over the text.
fn placed(script: &str, mut found: Vec<(BytePos, Fault)>) -> Vec<Fault> {
    found.sort_by_key(|(position, _)| *position);
    let (mut offset, mut line, mut column) = (0, 1, 1);
    found
        .into_iter()
        .map(|(position, mut fault)| {
            let target = (position - START).0 as usize;
            let before = script.get(offset..target).unwrap_or_default();
            for c in before.chars() {
                if c == '\n' {
                    (line, column) = (line + 1, 1);
                } else {
                    column += u32::from(c.len_utf16() == 2) + 1;
                }
            }
            offset = target;
            fault.line = Some(line);
            fault.column = Some(super::user_column(line, column));
            fault
        })
        .collect()
}

#[cfg(test)]
mod tests;
