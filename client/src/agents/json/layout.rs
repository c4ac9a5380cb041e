//! The layout of a JSON file: an inserted property follows the file's style, and a removed property leaves no gap.

use jsonc_parser::{ast::Object, common::Ranged as _};
use serde_json::Value;

pub(super) struct JsonLayout {
    /// One step of indentation.
    unit: String,
}

impl JsonLayout {
    pub(super) fn of(text: &str, root: &Object<'_>) -> Self {
        let first = root
            .properties
            .first()
            .map(|property| property.range().start);
        let unit = first
            .and_then(|at| own_indentation(text, at))
            .unwrap_or_default();
        Self {
            unit: if unit.is_empty() {
                "  ".into()
            } else {
                unit.into()
            },
        }
    }

    /// The source with a property added at the end of an object.
    pub(super) fn with_property(
        &self,
        text: &str,
        object: &Object<'_>,
        key: &str,
        value: &Value,
    ) -> String {
        let range = object.range();
        let end = range.end - 1;
        let name = Value::from(key);
        let Some(last) = object.properties.last() else {
            let outer = line_indentation(text, range.start);
            let inner = format!("{outer}{}", self.unit);
            let body = self.format_multiline(value, &inner);
            // Comments in an empty object are kept.
            let kept = text[range.start + 1..end].trim_end();
            let from = range.start + 1 + kept.len();
            let piece = format!("\n{inner}{name}: {body}\n{outer}");
            return splice_text(text, from, end, &piece);
        };
        let first = object.properties.first().unwrap_or(last);
        let after = last.range().end;
        let gap = PropertyGap::of(&text[after..end]);
        let comma = gap.comma.is_some();
        let piece = match own_indentation(text, first.range().start) {
            // One property per line.
            Some(indent) => format!("\n{indent}{name}: {}", self.format_multiline(value, indent)),
            // A comment extends to the end of the line.
            None if text[after..after + gap.line].contains("//") => {
                let indent = format!("{}{}", line_indentation(text, range.start), self.unit);
                format!(
                    "\n{indent}{name}: {}",
                    self.format_multiline(value, &indent)
                )
            }
            None => {
                let before = first.range();
                let tight = !text[before.start..before.end].contains(": ");
                if tight {
                    format!("{name}:{value}")
                } else {
                    format!(" {name}: {}", format_single_line(value))
                }
            }
        };
        let trailing = if comma { "," } else { "" };
        let with_piece = splice_text(
            text,
            after + gap.line,
            after + gap.line,
            &format!("{piece}{trailing}"),
        );
        if comma {
            with_piece
        } else {
            splice_text(&with_piece, after, after, ",")
        }
    }

    /// A value formatted to replace the one that starts at `at`.
    pub(super) fn format_replacement(&self, text: &str, at: usize, value: &Value) -> String {
        if text[..at].ends_with(':') {
            value.to_string()
        } else {
            self.format_multiline(value, line_indentation(text, at))
        }
    }

    /// Formats a value with one property per line. Arrays stay on one line.
    fn format_multiline(&self, value: &Value, indent: &str) -> String {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let inner = format!("{indent}{}", self.unit);
                let fields = fields.iter().map(|(key, value)| {
                    format!(
                        "{inner}{}: {}",
                        Value::from(key.as_str()),
                        self.format_multiline(value, &inner)
                    )
                });
                let fields: Vec<String> = fields.collect();
                format!("{{\n{}\n{indent}}}", fields.join(",\n"))
            }
            other => format_single_line(other),
        }
    }
}

/// The source with one of an object's properties removed.
pub(super) fn without_property(text: &str, object: &Object<'_>, index: usize) -> String {
    let property = object.properties[index].range();
    let next = object.properties.get(index + 1);
    let end = next.map_or(object.range().end - 1, |next| next.range().start);
    let gap = PropertyGap::of(&text[property.end..end]);
    // From the start of the line, if the property is the first on its line.
    let start = match own_indentation(text, property.start) {
        Some(indent) => property.start - indent.len(),
        None => property.start,
    };
    let alone = start < property.start || text[..start].ends_with('\n');
    let stop = property.end + gap.comma.map_or(0, |comma| comma + 1);
    let rest = &text[stop..];
    let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let line_end = match &rest[blank..] {
        ends if ends.starts_with("\r\n") => Some(blank + 2),
        ends if ends.starts_with('\n') => Some(blank + 1),
        _ => None,
    };
    let cut = match (alone, line_end) {
        (true, Some(line)) => splice_text(text, start, stop + line, ""),
        _ if gap.comma.is_some() && next.is_some() => {
            splice_text(text, property.start, stop + blank, "")
        }
        _ => splice_text(
            text,
            text[..property.start].trim_end_matches([' ', '\t']).len(),
            stop,
            "",
        ),
    };
    // The last property leaves the comma before it behind, unless it had a trailing comma itself.
    let before = index
        .checked_sub(1)
        .map(|index| object.properties[index].range().end);
    match before {
        Some(before) if next.is_none() && gap.comma.is_none() => {
            match PropertyGap::of(&text[before..property.start]).comma {
                Some(comma) => splice_text(&cut, before + comma, before + comma + 1, ""),
                None => cut,
            }
        }
        _ => cut,
    }
}

/// The source between two properties, or after the last one.
struct PropertyGap {
    comma: Option<usize>,
    /// The end of the previous line's part: after the comma and the comments next to it.
    line: usize,
}

impl PropertyGap {
    fn of(text: &str) -> Self {
        let mut gap = Self {
            comma: None,
            line: 0,
        };
        let mut at = 0;
        let mut same_line = true;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            let length = match c {
                '/' if rest.starts_with("//") => rest.find(['\r', '\n']).unwrap_or(rest.len()),
                '/' => rest.find("*/").map_or(rest.len(), |end| end + 2),
                other => other.len_utf8(),
            };
            at += length;
            match c {
                ',' => {
                    gap.comma = Some(at - 1);
                    // If the comma starts a line, the rest of the line belongs to it.
                    (gap.line, same_line) = (at, true);
                }
                '/' if same_line => gap.line = at,
                '\n' => same_line = false,
                _ => {}
            }
        }
        gap
    }
}

/// The whitespace before an offset, if only whitespace precedes it on its line.
fn own_indentation(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n').map(|end| end + 1)?;
    let before = &text[start..at];
    before
        .trim_matches([' ', '\t'])
        .is_empty()
        .then_some(before)
}

/// The leading whitespace of the line that contains an offset.
fn line_indentation(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Formats a value on one line: `{ "a": [1, 2] }`.
fn format_single_line(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(format_single_line).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter().map(|(key, value)| {
                format!(
                    "{}: {}",
                    Value::from(key.as_str()),
                    format_single_line(value)
                )
            });
            let fields: Vec<String> = fields.collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

fn splice_text(text: &str, start: usize, end: usize, piece: &str) -> String {
    format!("{}{piece}{}", &text[..start], &text[end..])
}
