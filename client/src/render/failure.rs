//! Errors: the message, the position in the user's source, and a hint.

use std::{borrow::Cow, process::ExitCode};

use super::terminal::eprintln;
use mux_proto::{Diagnostics, Error};
use mux_typegen::names::display_path;
use serde_json::Value;

use super::{
    error_document, note, print_document, print_extended,
    style::{DIM, ERROR, STRONG, WARN, escape_text, one_line, paint},
};
use crate::{exit, found_program::with_found_program};

/// Details of an error that are shown without --verbose.
const SHOWN_DETAILS: [&str; 2] = ["stack", "others"];
/// The maximum number of characters of a detail.
const MAX_DETAIL_CHARS: usize = 2_000;

/// The source of a program, for error positions.
#[derive(Clone, Debug)]
pub(crate) struct ProgramListing {
    /// The name of the file, or `program`.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl ProgramListing {
    /// For a program whose source is not available.
    pub(crate) fn without_source() -> Self {
        Self {
            name: "program".into(),
            text: String::new(),
        }
    }
}

/// Prints the error of a failed command. Returns the exit code of the error's kind.
pub(crate) fn failure(error: &Error, json: bool, listing: Option<&ProgramListing>) -> ExitCode {
    if json {
        print_document(&error_document(error));
    } else {
        print_error(error, listing);
    }
    ExitCode::from(error.kind.exit_code())
}

/// Prints a usage error.
pub(crate) fn usage(error: &Error, json: bool) -> ExitCode {
    if json {
        print_document(&error_document(error));
    } else {
        eprintln!("{}: {}", paint(ERROR, "error"), error.message);
        show_hint(error);
    }
    ExitCode::from(exit::USAGE_EXIT_CODE)
}

/// Prints the errors and warnings of a check.
pub(crate) fn diagnostics(found: &Diagnostics, listing: &ProgramListing, json: bool) -> ExitCode {
    let errors = &found.errors;
    if json {
        print_extended(found, "ok", Some(errors.is_empty()));
    } else {
        for error in errors {
            print_error(error, Some(listing));
        }
        for warning in &found.warnings {
            print_warning(warning, Some(listing));
        }
        if let Some(why) = &found.unchecked {
            note_unchecked(why);
        }
    }
    ExitCode::from(errors.first().map_or(0, |first| first.kind.exit_code()))
}

/// Notes why the types of a program were not checked.
pub(super) fn note_unchecked(why: &str) {
    note(&format!("the types were not checked: {}", escape_text(why)));
}

/// Prints an error for a person, on standard error.
pub(super) fn print_error(error: &Error, listing: Option<&ProgramListing>) {
    let kind = paint(ERROR, format!("error[{}]", error.kind));
    print_diagnostic(&kind, &with_found_program(error), listing);
}

/// Prints an error that came after the result, if there is one. Returns the exit code of its kind.
pub(super) fn print_late_failure(failure: Option<Error>) -> Option<ExitCode> {
    let error = failure?;
    print_error(&error, None);
    Some(ExitCode::from(error.kind.exit_code()))
}

/// Prints a warning for a person, on standard error.
pub(super) fn print_warning(warning: &Error, listing: Option<&ProgramListing>) {
    let kind = paint(WARN, format!("warning[{}]", warning.kind));
    print_diagnostic(&kind, warning, listing);
}

fn print_diagnostic(kind: &str, error: &Error, listing: Option<&ProgramListing>) {
    let message = with_display_path(error, &error.message);
    let mut message = message.lines();
    let first = message.next().unwrap_or_default();
    eprintln!("{kind}: {}", paint(STRONG, escape_text(first)));
    for line in message {
        eprintln!("  {}", escape_text(line));
    }
    if let (Some(listing), Some(line)) = (listing, error.line) {
        show_place(listing, line, error.column.unwrap_or(1));
    }
    show_stack(error);
    show_hint(error);
    show_details(error);
    for other in other_errors(error) {
        let line = other["line"].as_u64();
        let position = line.map_or_else(String::new, |line| format!("line {line}: "));
        let message = escape_text(other["message"].as_str().unwrap_or_default());
        eprintln!("  {} {position}{message}", paint(DIM, "also"));
    }
}

fn show_hint(error: &Error) {
    if let Some(hint) = &error.hint {
        let hint = with_display_path(error, hint);
        for (index, line) in hint.lines().enumerate() {
            let label = if index == 0 { "hint:" } else { "     " };
            eprintln!("  {} {}", paint(DIM, label), escape_text(line));
        }
    }
}

/// A string of an error, with its tool as written in programs.
pub(super) fn with_display_path<'a>(error: &Error, text: &'a str) -> Cow<'a, str> {
    match error.path.as_deref().map(|path| (path, display_path(path))) {
        Some((path, Cow::Owned(spelled))) => text.replace(path, &spelled).into(),
        _ => text.into(),
    }
}

/// Prints the details that have no separate line, with --verbose.
fn show_details(error: &Error) {
    let details = error.details.as_ref().and_then(Value::as_object);
    for (name, value) in details.into_iter().flatten() {
        if !SHOWN_DETAILS.contains(&name.as_str()) {
            let value = one_line(&value.to_string(), MAX_DETAIL_CHARS);
            super::detail(&format!("  {name}: {value}"));
        }
    }
}

/// Prints the line of the source, with a mark under the column.
fn show_place(listing: &ProgramListing, line: u32, column: u32) {
    eprintln!("  {} {}:{line}:{column}", paint(DIM, "-->"), listing.name);
    let Some(text) = listing.text.lines().nth(line as usize - 1) else {
        return;
    };
    let number = line.to_string();
    let bar = paint(DIM, "|");
    // A window around the column: generated programs have long lines.
    let (shown, before) = line_window(text, column.saturating_sub(1) as usize);
    eprintln!("  {} {bar} {shown}", paint(DIM, &number));
    let pad = " ".repeat(number.len());
    let gap = " ".repeat(before);
    eprintln!("  {pad} {bar} {gap}{}", paint(ERROR, "^"));
}

/// The maximum number of characters of a source line that are shown.
const MAX_SOURCE_LINE_CHARS: usize = 100;

/// The part of the line around `offset` (UTF-16 units), and the number of columns before `offset` in it.
fn line_window(text: &str, offset: usize) -> (String, usize) {
    let mut units = 0;
    let column = text
        .chars()
        .take_while(|c| {
            units += c.len_utf16();
            units <= offset
        })
        .count();
    let start = column.saturating_sub(MAX_SOURCE_LINE_CHARS / 2);
    let shown: String = text
        .chars()
        .skip(start)
        .take(MAX_SOURCE_LINE_CHARS)
        .map(|c| if c == '\t' { ' ' } else { c })
        .collect();
    (shown, column - start)
}

fn show_stack(error: &Error) {
    let frames = error.details.as_ref().and_then(|d| d["stack"].as_array());
    for frame in frames
        .into_iter()
        .flatten()
        .skip(1)
        .filter_map(Value::as_str)
    {
        eprintln!("  {} {}", paint(DIM, "called from"), escape_text(frame));
    }
}

fn other_errors(error: &Error) -> Vec<Value> {
    error
        .details
        .as_ref()
        .and_then(|d| d["others"].as_array().cloned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_of_an_error_is_spelled_as_in_programs() {
        let mut error = Error::new(mux_proto::Kind::Denied, "all.get-it is denied");
        let shown = |error: &Error| with_display_path(error, &error.message).into_owned();
        assert_eq!(shown(&error), "all.get-it is denied");
        error.path = Some("all.get-it".into());
        assert_eq!(shown(&error), "all.get_it is denied");
    }

    #[test]
    fn mark_is_under_the_column() {
        assert_eq!(line_window("let y = ;", 8), ("let y = ;".into(), 8));
        assert_eq!(line_window("𝒳 = ;", 5), ("𝒳 = ;".into(), 4));
        let long = format!("{}x{}", "a".repeat(500), "b".repeat(500));
        let (shown, before) = line_window(&long, 500);
        assert_eq!(shown.chars().nth(before), Some('x'));
        assert!(shown.len() <= MAX_SOURCE_LINE_CHARS);
    }
}
