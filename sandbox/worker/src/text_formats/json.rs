//! JSON, and JSON Lines: a value on each line that is not blank.

use deno_core::{
    serde::de::IgnoredAny,
    serde_json::{self, Error},
};

use super::{
    ParseError,
    json_output::{JsonOutput, OutputTooLarge},
};

/// The text itself, if it is JSON.
pub(super) fn parse(text: &str) -> Result<String, ParseError> {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(problem(text, 0, &error)),
    }
}

pub(super) fn parse_lines(text: &str) -> Result<String, ParseError> {
    let mut values = JsonOutput::default();
    let too_large = |OutputTooLarge| ParseError::at(text, 0, ParseError::too_large());
    values.raw("[").map_err(too_large)?;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            if let Err(error) = serde_json::from_str::<IgnoredAny>(line) {
                return Err(problem(text, start, &error));
            }
            values.raw(line.trim()).map_err(too_large)?;
            values.raw(",").map_err(too_large)?;
        }
        start += line.len();
    }
    values.end("]").map_err(too_large)?;
    Ok(values.into_text())
}

/// True if there are several lines, and the first is a JSON object or array.
pub(super) fn has_lines(text: &str) -> bool {
    text.split_once('\n').is_some_and(|(first, _)| {
        first.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(first).is_ok()
    })
}

/// The problem of a part of the text that begins at a byte.
fn problem(text: &str, start: usize, error: &Error) -> ParseError {
    let part = &text[start..];
    // A column counts bytes from 1, and is 0 at the end of a line.
    let lines_before = part
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let line_start: usize = lines_before.map(str::len).sum();
    let byte = start + line_start + error.column().saturating_sub(1);
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    ParseError::at(text, byte.min(text.len()), words)
}
