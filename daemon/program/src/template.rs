//! Arguments with references, and their expansion.
//!
//! A string that is exactly one reference is replaced by the value, regardless of its type. Within a longer
//! string, a value is inserted as text: strings as they are, everything else as JSON. `\{{` is a literal `{{`,
//! and `\\{{` a backslash before a reference. Member names are not expanded.
//!
//! Invariant: neither the expansion nor an intermediate result is longer than the limit.

use std::io;

use serde::Serialize as _;
use serde_json::{Value, ser::Formatter};

use super::{
    json_path::{self, MissingValue},
    reference::ValueReference,
};

/// Bytes that all lookups of one expansion may scan. Each lookup scans the whole value: many references into long
/// values would occupy a thread for minutes.
const MAX_SCANNED_BYTES: usize = 256 << 20;

#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// A value without references.
    Fixed(Value),
    /// One reference, replaced by its value.
    Whole(ValueReference),
    /// A string with references in it.
    Text(Vec<TextPiece>),
    Array(Vec<Template>),
    Object(Vec<(String, Template)>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum TextPiece {
    Text(String),
    Value(ValueReference),
}

/// Resolves references to their values.
pub trait ReferenceValues {
    /// The raw JSON at the root of a reference.
    fn root_text(&self, reference: &ValueReference) -> Option<&str>;
}

/// Why a template cannot be filled.
#[derive(Debug, PartialEq)]
pub enum FillError {
    /// The referenced value does not exist.
    Missing(ValueReference, MissingValue),
    /// The expansion would be longer than this limit, in bytes.
    TooLong(usize),
    /// The lookups would scan more than this limit, in bytes.
    TooMuch(usize),
}

impl Template {
    pub fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }

    /// Calls `each` with all references, in document order.
    pub fn references<'a>(&'a self, each: &mut dyn FnMut(&'a ValueReference)) {
        match self {
            Self::Fixed(_) => {}
            Self::Whole(reference) => each(reference),
            Self::Text(pieces) => {
                for piece in pieces {
                    if let TextPiece::Value(reference) = piece {
                        each(reference);
                    }
                }
            }
            Self::Array(items) => items.iter().for_each(|item| item.references(each)),
            Self::Object(members) => members
                .iter()
                .for_each(|(_, member)| member.references(each)),
        }
    }

    /// The JSON with all references expanded, at most `most` bytes. A value that `values` does not have is null.
    pub fn fill(&self, values: &dyn ReferenceValues, most: usize) -> Result<String, FillError> {
        let mut out = BoundedJson {
            text: String::new(),
            most,
            read: 0,
        };
        self.write(values, &mut out)?;
        Ok(out.text)
    }

    fn write(&self, values: &dyn ReferenceValues, out: &mut BoundedJson) -> Result<(), FillError> {
        match self {
            Self::Fixed(value) => out.push(&value.to_string()),
            Self::Whole(reference) => {
                let text = out.resolve_value(reference, values)?;
                out.push(text)
            }
            Self::Text(pieces) => {
                out.push("\"")?;
                for piece in pieces {
                    match piece {
                        TextPiece::Text(text) => out.push_quoted(text)?,
                        TextPiece::Value(reference) => {
                            let text = out.resolve_value(reference, values)?;
                            // A value this long cannot fit even if every escape of it shrinks to one byte.
                            out.check_room(text.len() / 6)?;
                            out.push_quoted(&text_of_json(text))?;
                        }
                    }
                }
                out.push("\"")
            }
            Self::Array(items) => {
                out.push("[")?;
                for (at, item) in items.iter().enumerate() {
                    out.push(if at > 0 { "," } else { "" })?;
                    item.write(values, out)?;
                }
                out.push("]")
            }
            Self::Object(members) => {
                out.push("{")?;
                for (at, (name, member)) in members.iter().enumerate() {
                    out.push(if at > 0 { "," } else { "" })?;
                    out.push(&Value::from(name.as_str()).to_string())?;
                    out.push(":")?;
                    member.write(values, out)?;
                }
                out.push("}")
            }
        }
    }
}

/// A JSON value as inserted into a string.
pub(super) fn text_of_json(json: &str) -> String {
    match serde_json::from_str(json) {
        Ok(Value::String(text)) => text,
        Ok(value) => {
            let mut bytes = Vec::new();
            let mut writer = serde_json::Serializer::with_formatter(&mut bytes, JsNumberFormatter);
            match value.serialize(&mut writer) {
                Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(_) => json.to_owned(),
            }
        }
        // Invalid JSON is passed on unchanged: the next parser reports the error.
        Err(_) => json.to_owned(),
    }
}

/// Writes numbers as a TypeScript program would: `1` and not `1.0`.
struct JsNumberFormatter;

impl Formatter for JsNumberFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, number: f64) -> io::Result<()> {
        let size = number.abs();
        if number == 0.0 {
            write!(writer, "0")
        } else if (1e-6..1e21).contains(&size) {
            write!(writer, "{number}")
        } else {
            let text = format!("{number:e}");
            if text.contains("e-") {
                write!(writer, "{text}")
            } else {
                write!(writer, "{}", text.replace('e', "e+"))
            }
        }
    }
}

/// JSON that grows to at most `most` bytes.
struct BoundedJson {
    text: String,
    most: usize,
    /// Bytes of values scanned by lookups.
    read: usize,
}

impl BoundedJson {
    fn resolve_value<'a>(
        &mut self,
        reference: &ValueReference,
        values: &'a dyn ReferenceValues,
    ) -> Result<&'a str, FillError> {
        let Some(text) = values.root_text(reference) else {
            return Ok("null");
        };
        if !reference.path.is_empty() {
            self.read = self.read.saturating_add(text.len());
        }
        if self.read > MAX_SCANNED_BYTES {
            return Err(FillError::TooMuch(MAX_SCANNED_BYTES));
        }
        let lost = |missing| FillError::Missing(reference.clone(), missing);
        json_path::value_at_path(text, &reference.path).map_err(lost)
    }

    fn check_room(&self, length: usize) -> Result<(), FillError> {
        if self.text.len().saturating_add(length) > self.most {
            Err(FillError::TooLong(self.most))
        } else {
            Ok(())
        }
    }

    fn push(&mut self, text: &str) -> Result<(), FillError> {
        self.check_room(text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    /// Appends the inside of a JSON string literal, escaped.
    fn push_quoted(&mut self, text: &str) -> Result<(), FillError> {
        self.check_room(text.len())?;
        let quoted = Value::from(text).to_string();
        self.push(&quoted[1..quoted.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_strings_are_formatted_as_in_javascript() {
        for (json, expected) in [
            ("\"a\\n\"", "a\n"),
            ("1", "1"),
            ("1.0", "1"),
            ("-0.0", "0"),
            ("1e21", "1e+21"),
            ("1.5e300", "1.5e+300"),
            ("1e-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("123456789012345680000.0", "123456789012345680000"),
            ("null", "null"),
            ("{\"a\": [1.0, true, \"x\"]}", "{\"a\":[1,true,\"x\"]}"),
        ] {
            assert_eq!(text_of_json(json), expected, "{json}");
        }
    }
}
