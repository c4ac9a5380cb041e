//! JSON that is written piece by piece, up to a limit.

use std::{fmt::Display, ops::RangeInclusive};

use deno_core::serde_json;

use super::MAX_OUTPUT_BYTES;

/// The output would be longer than the limit.
#[derive(Debug)]
pub(super) struct OutputTooLarge;

#[derive(Debug, Default)]
pub(super) struct JsonOutput {
    text: String,
}

impl JsonOutput {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The part that was written after a length.
    pub(super) fn since(&self, len: usize) -> &str {
        &self.text[len..]
    }

    /// Removes the output after a length.
    pub(super) fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
    }

    /// Replaces written ASCII by text that is no longer.
    pub(super) fn replace(&mut self, range: RangeInclusive<usize>, by: &str) {
        self.text.replace_range(range, by);
    }

    /// Writes raw JSON, or a part of it.
    pub(super) fn raw(&mut self, json: &str) -> Result<(), OutputTooLarge> {
        if self.text.len() + json.len() > MAX_OUTPUT_BYTES {
            return Err(OutputTooLarge);
        }
        self.text.push_str(json);
        Ok(())
    }

    pub(super) fn number(&mut self, number: impl Display) -> Result<(), OutputTooLarge> {
        self.raw(&number.to_string())
    }

    /// Writes a floating-point number. Numbers that JSON cannot represent become null.
    pub(super) fn float(&mut self, number: f64) -> Result<(), OutputTooLarge> {
        if number.is_finite() {
            self.number(number)
        } else {
            self.raw("null")
        }
    }

    pub(super) fn string(&mut self, string: &str) -> Result<(), OutputTooLarge> {
        // A string is not shorter as JSON.
        if self.text.len() + string.len() > MAX_OUTPUT_BYTES {
            return Err(OutputTooLarge);
        }
        self.raw(&serde_json::to_string(string).unwrap_or_default())
    }

    /// Removes the comma after the last member.
    pub(super) fn end(&mut self, bracket: &str) -> Result<(), OutputTooLarge> {
        if self.text.ends_with(',') {
            self.text.pop();
        }
        self.raw(bracket)
    }
}
