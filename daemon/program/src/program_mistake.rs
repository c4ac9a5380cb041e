//! Errors in a step program, reported together.
//!
//! Invariant: every error has its location and a correction.

use mux_wire::{Fault, FaultKind};
use serde_json::{Value, json};

/// Mistakes beyond this number are only counted: they are most likely repetitions.
const MAX_REPORTED_MISTAKES: usize = 50;
/// The number of characters of user input that an error message shows.
const MAX_SHORT_TEXT_CHARS: usize = 60;

/// One error in a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProgramMistake {
    pub message: String,
    pub hint: String,
}

impl ProgramMistake {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// Combines all errors into one syntax fault, see [`combine_faults`].
pub(crate) fn mistakes_fault(mistakes: &[ProgramMistake]) -> Option<Fault> {
    let faults = mistakes
        .iter()
        .map(|mistake| Fault::new(FaultKind::Syntax, &mistake.message).hint(&mistake.hint));
    combine_faults(faults.collect())
}

/// Returns the first fault, with the others as JSON in its details.
pub fn combine_faults(faults: Vec<Fault>) -> Option<Fault> {
    let mut faults = faults.into_iter();
    let mut first = faults.next()?;
    let rest = faults.len().min(MAX_REPORTED_MISTAKES);
    let more = faults.len().saturating_sub(MAX_REPORTED_MISTAKES);
    let shown =
        |fault: Fault| json!({ "message": fault.message, "hint": fault.hint, "path": fault.path });
    let mut others: Vec<Value> = faults.take(rest).map(shown).collect();
    if more > 0 {
        others.push(json!({ "message": format!("and {more} more") }));
    }
    if !others.is_empty() {
        first.details = Some(json!({ "others": others }).to_string());
    }
    Some(first)
}

/// How an error message names a step.
pub(crate) fn step_label(index: usize, id: Option<&str>) -> String {
    match id {
        Some(id) => format!("step `{}` (steps[{index}])", short_text(id)),
        None => format!("steps[{index}]"),
    }
}

/// The beginning of a text, on one line.
pub fn short_text(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let plain = |c: char| if breaks(c) { ' ' } else { c };
    let mut short: String = text.chars().take(MAX_SHORT_TEXT_CHARS).map(plain).collect();
    if text.chars().nth(MAX_SHORT_TEXT_CHARS).is_some() {
        short.push('…');
    }
    short
}

/// The kind of a JSON value with its article, for error messages.
pub(crate) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
