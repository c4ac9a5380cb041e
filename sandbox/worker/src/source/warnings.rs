//! Warnings for a program that parses: calls that are not awaited, and names that do not exist in the sandbox. The
//! warnings need no types and no name resolution: a name that is declared anywhere in the program counts as the
//! program's own.
//!
//! Invariant: a warning never changes what a program does. The time and stack for warnings are bounded for any program:
//! expressions and statements nested deeper than [`MAX_VISIT_DEPTH`] are skipped.

mod program_survey;
mod tool_calls;
mod warning_findings;

use mux_wire::Fault;
use swc_common::BytePos;
use swc_ecma_ast::{EsVersion, Script};
use swc_ecma_parser::{EsSyntax, Parser, StringInput, Syntax, lexer::Lexer};
use swc_ecma_visit::VisitWith as _;

use self::{program_survey::ProgramSurvey, warning_findings::WarningFinder};

/// The maximum number of warnings for one program.
const MAX_WARNINGS: usize = 100;

/// The maximum nesting depth of expressions, statements and patterns that are visited. Brackets are limited by
/// [`super::nesting_depth::MAX_NESTING_DEPTH`], and each contains at most a few levels of these.
const MAX_VISIT_DEPTH: usize = 4000;

/// The position of the first byte for the parser, which reserves 0.
pub(super) const SOURCE_START: BytePos = BytePos(1);

/// The warnings for a script that [`super::prepare_script`] returned, sorted by position.
pub(super) fn program_warnings(script: &str) -> Vec<Fault> {
    let Some(tree) = parse_script(script) else {
        return Vec::new();
    };
    let mut survey = ProgramSurvey::default();
    tree.visit_with(&mut survey);
    let mut findings = WarningFinder::new(&survey);
    tree.visit_with(&mut findings);
    set_positions(script, findings.found)
}

/// Parses the script, which is plain JavaScript: its types are blanked out.
pub(super) fn parse_script(script: &str) -> Option<Script> {
    let end = BytePos(
        SOURCE_START
            .0
            .checked_add(u32::try_from(script.len()).ok()?)?,
    );
    let lexer = Lexer::new(
        Syntax::Es(EsSyntax::default()),
        EsVersion::latest(),
        StringInput::new(script, SOURCE_START, end),
        None,
    );
    Parser::new_from(lexer).parse_script().ok()
}

/// Sets the line and column of each fault, in one pass over the source.
fn set_positions(script: &str, mut found: Vec<(BytePos, Fault)>) -> Vec<Fault> {
    found.sort_by_key(|(position, _)| *position);
    let mut offset = 0;
    let mut line = 1;
    let mut column = 1;
    found
        .into_iter()
        .map(|(position, mut fault)| {
            let target = (position - SOURCE_START).0 as usize;
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
