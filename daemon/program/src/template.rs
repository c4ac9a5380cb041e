//! Arguments with references in them, and what is sent in their place.
//!
//! A text that is one reference and nothing else gives way to the value, whatever it is. Within a text a
//! value stands as text: texts as they are, everything else as JSON. `\{{` stands for `{{` itself, and `\\{{`
//! for a backslash before a reference. Names of members are never looked at.
//!
//! Invariant: what is sent is never longer than the limit, and nothing longer is ever made on the way.

use std::io;

use serde::Serialize as _;
use serde_json::{Value, ser::Formatter};

use super::{
    json_path::{self, MissingValue},
    reference::ValueReference,
};

/// Each reference reads the whole of its value. Many of them into long values would keep a thread for minutes.
const MAX_SCANNED_BYTES: usize = 256 << 20;

#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// There is no reference in it.
    Fixed(Value),
    /// The value itself.
    Whole(ValueReference),
    /// A text with values in it.
    Text(Vec<TextPiece>),
    Array(Vec<Template>),
    Object(Vec<(String, Template)>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum TextPiece {
    Text(String),
    Value(ValueReference),
}

/// What references stand for.
pub trait ReferenceValues {
    /// The JSON text at the root of a reference.
    fn root_text(&self, reference: &ValueReference) -> Option<&str>;
}

/// Why a template cannot be filled.
#[derive(Debug, PartialEq)]
pub enum FillError {
    /// There is no such value.
    Missing(ValueReference, MissingValue),
    /// What is to be sent would be longer than so many bytes.
    TooLong(usize),
    /// To find all its values, more than so many bytes would have to be read.
    TooMuch(usize),
}

impl Template {
    pub fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }

    /// All references, in the order in which they stand.
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

    /// The JSON text with all values in their places, `most` bytes at most. A value that `values` does not
    /// have is null.
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
                            // What is longer than all may be is not worth reading.
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

/// A value as it stands within a text.
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
        // What no reader takes is passed on as it is; the next one will say what is wrong with it.
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
            match text.contains("e-") {
                true => write!(writer, "{text}"),
                false => write!(writer, "{}", text.replace('e', "e+")),
            }
        }
    }
}

/// Grows no further than it may.
struct BoundedJson {
    text: String,
    most: usize,
    /// Bytes of values in which a way was looked for.
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
        match self.text.len().saturating_add(length) > self.most {
            true => Err(FillError::TooLong(self.most)),
            false => Ok(()),
        }
    }

    fn push(&mut self, text: &str) -> Result<(), FillError> {
        self.check_room(text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    /// Within a JSON text, so that nothing in it ends that.
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
    fn values_stand_in_a_text_as_a_program_would_write_them() {
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
