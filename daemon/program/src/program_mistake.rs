//! What is wrong with a program, all of it at once.
//!
//! Invariant: every mistake says where it stands, and what to write instead.

use mux_wire::{Fault, Kind};
use serde_json::{Value, json};

/// Mistakes that are told; whoever made more has made one again and again.
const MAX_REPORTED_MISTAKES: usize = 50;
/// What is shown of a name that somebody wrote.
const MAX_SHORT_TEXT_CHARS: usize = 60;

/// One mistake, in words.
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

/// In the shape of every failure that has others beside it.
pub(crate) fn mistakes_fault(mistakes: &[ProgramMistake]) -> Option<Fault> {
    let faults = mistakes
        .iter()
        .map(|mistake| Fault::new(Kind::Syntax, &mistake.message).hint(&mistake.hint));
    combine_faults(faults.collect())
}

/// The first one, with the others in its details.
pub fn combine_faults(faults: Vec<Fault>) -> Option<Fault> {
    let mut faults = faults.into_iter();
    let mut first = faults.next()?;
    let (rest, more) = (
        faults.len().min(MAX_REPORTED_MISTAKES),
        faults.len().saturating_sub(MAX_REPORTED_MISTAKES),
    );
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

/// How a step is spoken of.
pub(crate) fn step_label(index: usize, id: Option<&str>) -> String {
    match id {
        Some(id) => format!("step `{}` (steps[{index}])", short_text(id)),
        None => format!("steps[{index}]"),
    }
}

/// The beginning of a text, in one line.
pub fn short_text(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let plain = |c: char| if breaks(c) { ' ' } else { c };
    let mut short: String = text.chars().take(MAX_SHORT_TEXT_CHARS).map(plain).collect();
    if text.chars().nth(MAX_SHORT_TEXT_CHARS).is_some() {
        short.push('…');
    }
    short
}

/// What a JSON value is.
pub(crate) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
