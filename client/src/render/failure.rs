//! Errors: the message, the position in the user's source, and a hint.

use std::process::ExitCode;

use super::terminal::eprintln;
use mux_proto::{Diagnostics, Error};
use serde_json::{Value, json};

use super::{
    document, error_document, note,
    style::{DIM, ERROR, STRONG, WARN, harmless, paint},
};
use crate::exit;

/// The source of a program, for error positions.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// The name of the file, or `program`.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Prints the error of a failed command; returns the exit code of the error's kind.
pub(crate) fn failure(error: &Error, json: bool, listing: Option<&Listing>) -> ExitCode {
    if json {
        document(&error_document(error));
    } else {
        describe(error, listing);
    }
    ExitCode::from(exit::code(&error.kind))
}

/// Prints a usage error.
pub(crate) fn usage(error: &Error, json: bool) -> ExitCode {
    if json {
        document(&error_document(error));
    } else {
        eprintln!("{}: {}", paint(ERROR, "error"), error.message);
        show_hint(error);
    }
    ExitCode::from(exit::USAGE)
}

/// Prints the errors and warnings of a check.
pub(crate) fn diagnostics(found: &Diagnostics, listing: &Listing, json: bool) -> ExitCode {
    let errors = &found.errors;
    if json {
        let mut all =
            json!({ "ok": errors.is_empty(), "errors": errors, "warnings": found.warnings });
        if let Some(why) = &found.unchecked {
            all["unchecked"] = why.as_str().into();
        }
        document(&all);
    } else {
        for error in errors {
            describe(error, Some(listing));
        }
        for warning in &found.warnings {
            doubt(warning, Some(listing));
        }
        if let Some(why) = &found.unchecked {
            unchecked(why);
        }
    }
    ExitCode::from(errors.first().map_or(0, |first| exit::code(&first.kind)))
}

/// Notes why the types of a program were not checked.
pub(super) fn unchecked(why: &str) {
    note(&format!("the types were not checked: {}", harmless(why)));
}

/// Prints an error for a person, on standard error.
pub(super) fn describe(error: &Error, listing: Option<&Listing>) {
    let kind = paint(ERROR, format!("error[{}]", error.kind));
    tell(&kind, error, listing);
}

/// Prints a warning for a person, on standard error.
pub(super) fn doubt(warning: &Error, listing: Option<&Listing>) {
    let kind = paint(WARN, format!("warning[{}]", warning.kind));
    tell(&kind, warning, listing);
}

fn tell(kind: &str, error: &Error, listing: Option<&Listing>) {
    let mut message = error.message.lines();
    let first = message.next().unwrap_or_default();
    eprintln!("{kind}: {}", paint(STRONG, harmless(first)));
    for line in message {
        eprintln!("  {}", harmless(line));
    }
    match (listing, error.line) {
        (Some(listing), Some(line)) => show_place(listing, line, error.column.unwrap_or(1)),
        // The program's source is not available.
        (None, Some(line)) => {
            let column = error.column.unwrap_or(1);
            eprintln!("  {} program:{line}:{column}", paint(DIM, "-->"));
        }
        (_, None) => {}
    }
    show_stack(error);
    show_hint(error);
    for other in others(error) {
        let line = other["line"].as_u64();
        let place = line.map_or_else(String::new, |line| format!("line {line}: "));
        let message = harmless(other["message"].as_str().unwrap_or_default());
        eprintln!("  {} {place}{message}", paint(DIM, "also"));
    }
}

fn show_hint(error: &Error) {
    if let Some(hint) = &error.hint {
        for (index, line) in hint.lines().enumerate() {
            let label = if index == 0 { "hint:" } else { "     " };
            eprintln!("  {} {}", paint(DIM, label), harmless(line));
        }
    }
}

/// Prints the line of the source, with a mark under the column.
fn show_place(listing: &Listing, line: u32, column: u32) {
    eprintln!("  {} {}:{line}:{column}", paint(DIM, "-->"), listing.name);
    let Some(text) = listing.text.lines().nth(line as usize - 1) else {
        return;
    };
    let number = line.to_string();
    let bar = paint(DIM, "|");
    // A window around the column: generated programs have long lines.
    let (shown, before) = window(text, column.saturating_sub(1) as usize);
    eprintln!("  {} {bar} {shown}", paint(DIM, &number));
    let pad = " ".repeat(number.len());
    let gap = " ".repeat(before);
    eprintln!("  {pad} {bar} {gap}{}", paint(ERROR, "^"));
}

/// The maximum number of characters of a source line that are shown.
const WIDTH: usize = 100;

/// The part of the line around `offset` (UTF-16 units), and the number of columns before `offset` in it.
fn window(text: &str, offset: usize) -> (String, usize) {
    let mut units = 0;
    let place = text
        .chars()
        .take_while(|c| {
            units += c.len_utf16();
            units <= offset
        })
        .count();
    let start = place.saturating_sub(WIDTH / 2);
    let shown: String = text
        .chars()
        .skip(start)
        .take(WIDTH)
        .map(|c| if c == '\t' { ' ' } else { c })
        .collect();
    (shown, place - start)
}

fn show_stack(error: &Error) {
    let frames = error.details.as_ref().and_then(|d| d["stack"].as_array());
    for frame in frames
        .into_iter()
        .flatten()
        .skip(1)
        .filter_map(Value::as_str)
    {
        eprintln!("  {} {}", paint(DIM, "called from"), harmless(frame));
    }
}

fn others(error: &Error) -> Vec<Value> {
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
    fn mark_is_under_the_column() {
        assert_eq!(window("let y = ;", 8), ("let y = ;".into(), 8));
        assert_eq!(window("𝒳 = ;", 5), ("𝒳 = ;".into(), 4));
        let long = format!("{}x{}", "a".repeat(500), "b".repeat(500));
        let (shown, before) = window(&long, 500);
        assert_eq!(shown.chars().nth(before), Some('x'));
        assert!(shown.len() <= WIDTH);
    }
}
