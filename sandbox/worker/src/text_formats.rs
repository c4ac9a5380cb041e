//! `mux.$parse`: converts text in the formats that tools return to JSON.
//!
//! Without a format, the first of these that fits the whole text: JSON, JSON Lines, a Python literal, a list or a map
//! of YAML, TSV, CSV. If none fits, the error is from the format that read furthest.
//!
//! Invariants:
//!
//! - The work grows with the input and the output, and the output is limited: YAML aliases and CSV column names can
//!   expand to far more than the input.
//! - No input makes this panic or overflow the stack.

mod delimited;
mod json;
mod json_output;
mod python;
mod yaml;

use std::{cmp::Reverse, fmt};

/// Levels of nesting that are read, as in every value that leaves the isolate.
const MAX_DEPTH: usize = 100;

/// The maximum size of the output, as JSON.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TextFormat {
    Json,
    JsonLines,
    Python,
    Yaml,
    Tsv,
    Csv,
}

/// The formats in the order in which they are tried.
const FORMATS: [TextFormat; 6] = [
    TextFormat::Json,
    TextFormat::JsonLines,
    TextFormat::Python,
    TextFormat::Yaml,
    TextFormat::Tsv,
    TextFormat::Csv,
];

/// The first position at which a text does not fit a format. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ParseError {
    /// `None` for text without any of the formats, and before the format is known.
    pub(crate) format: Option<TextFormat>,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) problem: String,
}

impl TextFormat {
    /// The format that a program names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        FORMATS.into_iter().find(|format| format.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Python => "python",
            Self::Yaml => "yaml",
            Self::Tsv => "tsv",
            Self::Csv => "csv",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::JsonLines => "JSON Lines",
            Self::Python => "a Python literal",
            Self::Yaml => "YAML",
            Self::Tsv => "TSV",
            Self::Csv => "CSV",
        }
    }

    fn parse(self, text: &str) -> Result<String, ParseError> {
        let parsed = match self {
            Self::Json => json::parse(text),
            Self::JsonLines => json::parse_lines(text),
            Self::Python => python::parse(text),
            Self::Yaml => yaml::parse(text),
            Self::Tsv => delimited::parse(text, b'\t'),
            Self::Csv => delimited::parse(text, delimited::csv_delimiter(text)),
        };
        parsed.map_err(|error| ParseError {
            format: Some(self),
            ..error
        })
    }

    /// True if the format is tried where the program names none.
    fn is_likely(self, text: &str) -> bool {
        let is_bracketed = text.starts_with(['{', '[', '(']);
        match self {
            Self::Json | Self::Python => true,
            Self::JsonLines => json::has_lines(text),
            // YAML reads nearly everything between brackets, such as calls in Python's output, as strings.
            Self::Yaml if is_bracketed => !text.contains(['"', '\'', '(']),
            Self::Yaml => yaml::is_list_or_map(text),
            Self::Tsv => !is_bracketed && delimited::is_table(text, b'\t'),
            Self::Csv => !is_bracketed && delimited::is_table(text, delimited::csv_delimiter(text)),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, .. } = self;
        write!(f, "line {line}, column {column}")?;
        if let Some(format) = self.format {
            write!(f, ", read as {}", format.title())?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// Converts a text in the given format, or else in the first that fits, to JSON. Blank text is null in every format.
pub(crate) fn parse(text: &str, format: Option<TextFormat>) -> Result<String, ParseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let content = text.trim();
    if content.is_empty() {
        return Ok("null".to_owned());
    }
    if let Some(format) = format {
        return format.parse(text);
    }
    let begins_as_data = content.starts_with(['{', '[', '(', '"', '\'']);
    let mut furthest: Option<ParseError> = None;
    for format in FORMATS {
        if !format.is_likely(content) {
            continue;
        }
        let error = match format.parse(text) {
            // If YAML was not requested, a string is a sentence.
            Ok(value) if format == TextFormat::Yaml && !value.starts_with(['[', '{']) => continue,
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        // Any text is tried as a literal.
        let is_literal = matches!(format, TextFormat::Json | TextFormat::Python);
        if begins_as_data || !is_literal {
            let errors = furthest.into_iter().chain([error]);
            // Of equal ones, the first.
            furthest = errors.min_by_key(|error| Reverse((error.line, error.column)));
        }
    }
    Err(furthest.unwrap_or_else(|| plain_text(text)))
}

/// The error for plain text, such as a sentence.
fn plain_text(text: &str) -> ParseError {
    let blanks = text.len() - text.trim_start().len();
    ParseError::at(
        text,
        blanks,
        "this is plain text: neither JSON, JSON Lines, a Python literal, a YAML list or map, TSV nor CSV",
    )
}

impl ParseError {
    /// An error at a byte of the text.
    fn at(text: &str, byte: usize, problem: impl Into<String>) -> Self {
        let (line, column) = position(text, byte);
        Self {
            format: None,
            line,
            column,
            problem: problem.into(),
        }
    }

    fn too_large() -> String {
        format!("it stands for more than {} MiB", MAX_OUTPUT_BYTES >> 20)
    }

    fn too_deep() -> String {
        format!("it is nested deeper than {MAX_DEPTH} levels")
    }
}

/// The line and the column of a byte of a text.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(byte)];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests;
