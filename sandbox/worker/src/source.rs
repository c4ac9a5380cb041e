//! Turns the source of a program into a script that the engine runs.
//!
//! Invariant: no code moves, except for an inserted `return` (`program_value`). Types are blanked out in place, a
//! Markdown fence becomes an empty line, and the wrapper that makes `await` and `return` legal precedes the first line,
//! whose columns are corrected by [`user_column`].

mod nesting_depth;
mod program_value;
mod warnings;

use std::{cell::Cell, sync::Arc};

use deno_core::serde_json::json;
use mux_wire::{
    Fault, FaultKind, ProgramFindings, missing_globals,
    program_wrapper::{WRAPPER_PREFIX, WRAPPER_SUFFIX, strip_bom_hashbang_and_fence},
};
use parking_lot::Mutex;
use swc_common::{
    BytePos, GLOBALS, Globals, SourceMap,
    errors::{DiagnosticBuilder, Emitter, Handler},
    sync::Lrc,
};
use swc_ts_fast_strip::{Mode, Options, operate};

pub(crate) use self::program_value::{ColumnShift, ValueScript};
use crate::fault;

thread_local! {
    /// The columns that moved in the program that this thread runs.
    static SHIFT: Cell<ColumnShift> = const { Cell::new(ColumnShift::NONE) };
}

/// The name of the script in stack traces.
pub(crate) const SCRIPT_NAME: &str = "program.ts";

/// The column in the user's source for a column of the script.
pub(crate) fn user_column(line: u32, column: u32) -> u32 {
    let column = SHIFT.get().original(line, column);
    if line == 1 {
        column.saturating_sub(prefix_length()).max(1)
    } else {
        column
    }
}

/// How many columns the first line of the script is shifted.
pub(crate) fn prefix_length() -> u32 {
    u32::try_from(WRAPPER_PREFIX.len()).expect("the prefix is short")
}

/// Checks a program without running it.
pub(crate) fn check_source(source: &str) -> ProgramFindings {
    SHIFT.set(ColumnShift::NONE);
    match prepare_script(source) {
        Ok(script) => {
            let valued = program_value::return_value(script.clone());
            let script = if valued.awaits_call {
                SHIFT.set(valued.shift);
                valued.text
            } else {
                script
            };
            ProgramFindings {
                errors: Vec::new(),
                warnings: warnings::program_warnings(&script),
                tree: mux_syntax::read_syntax(&strip_bom_hashbang_and_fence(source)),
            }
        }
        Err(errors) => ProgramFindings {
            errors,
            ..ProgramFindings::default()
        },
    }
}

/// Turns the source into a script whose value is an async function that returns the value of the program, or returns
/// all errors in it.
pub(crate) fn prepare_program(source: &str) -> Result<ValueScript, Vec<Fault>> {
    SHIFT.set(ColumnShift::NONE);
    let script = program_value::return_value(prepare_script(source)?);
    SHIFT.set(script.shift);
    Ok(script)
}

/// Turns the source into a script whose value is an async function, or returns all errors in it.
fn prepare_script(source: &str) -> Result<String, Vec<Fault>> {
    let plain = strip_bom_hashbang_and_fence(source);
    let nesting = nesting_depth::measure_nesting(&plain);
    if let Some((line, column)) = nesting.too_deep {
        return Err(vec![fault::nesting_limit_fault(
            nesting_depth::MAX_NESTING_DEPTH,
            line,
            column,
        )]);
    }
    let script =
        parse_and_strip(&plain, WRAPPER_PREFIX, WRAPPER_SUFFIX).map_err(|mut faults| {
            if has_extra_closing_bracket(&plain) {
                faults.truncate(1);
                mark_extra_bracket(&mut faults[0]);
            }
            faults
        })?;
    if !nesting.balanced {
        // A program that closes our wrapper and opens a similar one does not parse inside a different wrapper.
        parse_and_strip(&plain, ALTERNATE_PREFIX, ALTERNATE_SUFFIX).map_err(|mut faults| {
            faults.truncate(1);
            mark_extra_bracket(&mut faults[0]);
            faults
        })?;
    }
    Ok(script)
}

/// Has the length of [`PREFIX`], which keeps positions the same.
const ALTERNATE_PREFIX: &str = "async function program()   { ";
const ALTERNATE_SUFFIX: &str = "\n}";
const _: () = assert!(ALTERNATE_PREFIX.len() == WRAPPER_PREFIX.len());

/// Parses the program between prefix and suffix. Returns the script without types, or all errors.
fn parse_and_strip(plain: &str, prefix: &str, suffix: &str) -> Result<String, Vec<Fault>> {
    let map: Lrc<SourceMap> = Lrc::default();
    let found = Arc::new(Mutex::new(ParserReports::new()));
    let handler = Handler::with_emitter(true, false, Box::new(ReportCollector(Arc::clone(&found))));
    strip_types(&map, &handler, format!("{prefix}{plain}{suffix}")).map_err(|problem| {
        let found = found.lock();
        let mut faults: Vec<Fault> = found
            .iter()
            .map(|(position, message)| parser_fault(&map, plain, *position, message))
            .collect();
        faults.sort_by_key(|fault| (fault.line, fault.column));
        faults.dedup();
        if faults.is_empty() {
            faults.push(syntax_fault(problem));
        }
        faults
    })
}

/// Rewrites a fault for a program in which a bracket closes the wrapper.
fn mark_extra_bracket(fault: &mut Fault) {
    fault.message = "one `}` before this is too many".into();
    fault.hint = None;
}

/// Returns true if the program parses with one more opening bracket, and so has one closing bracket too many.
fn has_extra_closing_bracket(plain: &str) -> bool {
    let silent = Handler::with_emitter(true, false, Box::new(ReportCollector(Arc::default())));
    let opened = format!("{WRAPPER_PREFIX}{{{plain}{WRAPPER_SUFFIX}");
    strip_types(&Lrc::default(), &silent, opened).is_ok()
}

/// Strips the types from the source. The error is the parser's summary.
fn strip_types(map: &Lrc<SourceMap>, handler: &Handler, text: String) -> Result<String, String> {
    let options = Options {
        module: Some(true),
        mode: Mode::StripOnly,
        filename: Some(SCRIPT_NAME.into()),
        ..Options::default()
    };
    let stripped = GLOBALS.set(&Globals::default(), || operate(map, handler, text, options));
    stripped
        .map(|output| output.code)
        .map_err(|error| error.message)
}

/// The reports of the parser: position and message.
type ParserReports = Vec<(Option<BytePos>, String)>;

/// Collects the reports instead of printing them.
struct ReportCollector(Arc<Mutex<ParserReports>>);

impl Emitter for ReportCollector {
    fn emit(&mut self, diagnostic: &mut DiagnosticBuilder<'_>) {
        let position = diagnostic.span.primary_span().map(|span| span.lo);
        self.0.lock().push((position, diagnostic.message()));
    }
}

fn parser_fault(map: &SourceMap, plain: &str, position: Option<BytePos>, message: &str) -> Fault {
    let mut fault = syntax_fault(message.to_owned());
    let Some(position) = position.filter(|position| !position.is_dummy()) else {
        return fault;
    };
    let place = map.lookup_char_pos(position);
    let lines = plain.split('\n').count();
    if place.line > lines {
        // The parser ran into the end of the wrapper.
        let last = plain.trim_end();
        fault.message = "unexpected end of the program".into();
        fault.hint = Some("a bracket, string or comment is not closed".into());
        fault.line = u32::try_from(last.split('\n').count()).ok();
        fault.column = last
            .split('\n')
            .next_back()
            .and_then(|line| u32::try_from(line.encode_utf16().count() + 1).ok());
        return fault;
    }
    let line = u32::try_from(place.line).unwrap_or(u32::MAX);
    let text = plain.split('\n').nth(place.line - 1).unwrap_or_default();
    // The parser counts columns in UTF-16 code units, as we do.
    let before = if line == 1 {
        place.col.0.saturating_sub(WRAPPER_PREFIX.len())
    } else {
        place.col.0
    };
    let here: Vec<u16> = text.encode_utf16().skip(before).collect();
    fault.line = Some(line);
    fault.column = u32::try_from(before + 1).ok();
    fault.hint = syntax_hint(message, &String::from_utf16_lossy(&here), text);
    if message.contains("outside of module code") {
        fault.message = "a program is not a module: it has no `import` and no `export`".into();
    }
    fault
}

/// A hint for syntax that programs do not support.
fn syntax_hint(message: &str, here: &str, line: &str) -> Option<String> {
    let statement = line.trim_start();
    let text = if here.starts_with("import") || statement.starts_with("import ") {
        return Some(missing_globals::module_hint(import_specifier(statement)));
    } else if here.starts_with("export") || statement.starts_with("export ") {
        "programs cannot export: `return` the result"
    } else if message.contains("enum") {
        "types are erased in place; write `const X = { A: \"a\" } as const` instead of an enum"
    } else if message.contains("namespace") || message.contains("module") {
        "types are erased in place; use a plain object instead of a namespace"
    } else if message.contains("parameter propert") {
        "types are erased in place; declare the field and assign it in the constructor"
    } else {
        return None;
    };
    Some(text.into())
}

/// The module specifier of an `import`: the last string of the line.
fn import_specifier(statement: &str) -> &str {
    let end = statement.rfind(['"', '\'']).unwrap_or_default();
    let start = statement[..end].rfind(['"', '\'']).map_or(end, |at| at + 1);
    &statement[start..end]
}

fn syntax_fault(message: String) -> Fault {
    Fault::new(FaultKind::Syntax, message)
}

/// Merges faults into one: the first, with the others in `details`.
pub(crate) fn merge_faults(mut faults: Vec<Fault>) -> Fault {
    if faults.is_empty() {
        return syntax_fault("the program cannot be parsed".into());
    }
    let rest = faults.split_off(1);
    let mut first = faults.swap_remove(0);
    if !rest.is_empty() {
        let others: Vec<_> = rest
            .iter()
            .map(|f| json!({ "message": f.message, "line": f.line, "column": f.column }))
            .collect();
        first.details = Some(json!({ "others": others }).to_string());
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_blanked_in_place() {
        let source = "const a: number = 1;\nreturn a as unknown as string;";
        let script = prepare_script(source).unwrap();
        let lines: Vec<&str> = script.split('\n').collect();
        assert_eq!(lines[0], format!("{WRAPPER_PREFIX}const a         = 1;"));
        assert_eq!(lines[1], format!("return a{};", " ".repeat(21)));
    }

    #[test]
    fn stripping_fences_and_hashbangs_keeps_line_numbers() {
        for (source, line) in [
            ("```ts\nreturn 1\n```\n", 2),
            ("\n````typescript\nreturn 1\n````", 3),
            ("#!/usr/bin/env -S mux run\nreturn 1", 2),
            ("\u{feff}return 1", 1),
        ] {
            let script = prepare_script(source).unwrap();
            let text = script.split('\n').nth(line - 1).unwrap();
            assert!(text.ends_with("return 1"), "{source:?}: {text:?}");
        }
    }

    #[test]
    fn faults_have_the_line_and_column_in_the_users_source() {
        let check = |source: &str, line: u32, column: u32, part: &str| {
            let faults = prepare_script(source).expect_err(source);
            let fault = &faults[0];
            assert_eq!(
                (fault.line, fault.column),
                (Some(line), Some(column)),
                "{source:?} {fault:?}"
            );
            let all = format!(
                "{} {}",
                fault.message,
                fault.hint.clone().unwrap_or_default()
            );
            assert!(all.contains(part), "{source:?}: {all}");
        };
        check("const = 1", 1, 7, "");
        check("let x = 1;\nlet y = ;", 2, 9, "Expression expected");
        check("/* 𝒳 */ let y = ;", 1, 18, "Expression expected");
        check("import fs from 'fs'", 1, 1, "tools of a server");
        check("import axios from \"axios\";", 1, 1, "no network");
        check("import { a,\n} from 'b'", 1, 1, "cannot import");
        check("import 'é", 1, 1, "cannot import");
        check("const f = () => {\n  return 1;", 2, 12, "not closed");
        check("enum A { B }", 1, 1, "as const");
        check("if (a) {\n}\n}\nreturn 1", 4, 1, "too many");
        // A program cannot close the wrapper and open it again.
        check("})(); (async () => { return 7;", 1, 2, "too many");
        check("let a = 1;\n}, async () => {\nreturn 7", 2, 2, "too many");
        check(
            "const r = /[{]/;\n})(); (async () => { return 7;",
            2,
            2,
            "too many",
        );
        check("}\n/* { */) ; (async () => {", 2, 8, "too many");
    }
}
