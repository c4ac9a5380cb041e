//! The parsed text of an agent's file, and edits of one entry.
//!
//! Invariant: an edited text parses to the same values as before, except for the one entry; otherwise the edit fails.

use serde_json::Value;

use super::{endings, json, toml};

/// The byte order mark, which some programs on Windows write.
const BOM: &str = "\u{feff}";

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    /// JSON with comments and trailing commas, whether the agent accepts them or not.
    Json,
    Toml,
}

/// Why a file is not edited.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        line: u32,
        column: u32,
        message: String,
    },
    #[error("`{0}` is not a table of servers")]
    Shape(String),
    #[error("the entry cannot be written without changing something else")]
    Entangled,
}

/// The text of a file, with its parsed values.
#[derive(Debug)]
pub(crate) struct Document {
    bom: bool,
    text: String,
    format: Format,
    values: Value,
}

impl Document {
    /// Parses a file. An empty file has no servers.
    pub(crate) fn parse(bytes: &[u8], format: Format) -> Result<Self, DocumentError> {
        let whole = std::str::from_utf8(bytes).map_err(|_| DocumentError::NotText)?;
        let text = whole.strip_prefix(BOM);
        let bom = text.is_some();
        let text = text.unwrap_or(whole).to_owned();
        let values = read(&text, format)?;
        Ok(Self {
            bom,
            text,
            format,
            values,
        })
    }

    /// The whole text as it was read, including a byte order mark.
    pub(crate) fn text(&self) -> String {
        let bom = if self.bom { BOM } else { "" };
        format!("{bom}{}", self.text)
    }

    /// The values of the whole file.
    pub(crate) fn values(&self) -> &Value {
        &self.values
    }

    /// The entries of a section, in the order of the file.
    pub(crate) fn servers(&self, section: &[&str]) -> Vec<(&str, &Value)> {
        let entries = inside(&self.values, section)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        entries
            .map(|(name, entry)| (name.as_str(), entry))
            .collect()
    }

    pub(crate) fn server(&self, section: &[&str], name: &str) -> Option<&Value> {
        let entries = self.servers(section);
        entries
            .into_iter()
            .find_map(|(known, entry)| (known == name).then_some(entry))
    }

    /// The text with this entry added. If an entry of this name exists, its other keys are kept.
    pub(crate) fn put(
        &self,
        section: &[&str],
        name: &str,
        entry: &Value,
    ) -> Result<String, DocumentError> {
        let edited = match self.format {
            Format::Json => json::put(&self.text, section, name, entry)?,
            Format::Toml => toml::put(&self.text, section, name, entry)?,
        };
        let mut expected = self.values.clone();
        let mut place = &mut expected;
        for key in section {
            place = &mut place[*key];
        }
        merge(&mut place[name], entry);
        self.finished(edited, &expected)
    }

    /// The text with this entry removed.
    pub(crate) fn take(&self, section: &[&str], name: &str) -> Result<String, DocumentError> {
        let edited = match self.format {
            Format::Json => json::take(&self.text, section, name)?,
            Format::Toml => toml::take(&self.text, section, name)?,
        };
        let mut expected = self.values.clone();
        remove(&mut expected, section, name);
        if self.format == Format::Toml {
            // A TOML table exists only through its entries.
            for depth in (0..section.len()).rev() {
                let now = read(&edited, self.format)?;
                if inside(&now, &section[..=depth]).is_none() {
                    remove(&mut expected, &section[..depth], section[depth]);
                }
            }
        }
        self.finished(edited, &expected)
    }

    fn finished(&self, edited: String, expected: &Value) -> Result<String, DocumentError> {
        let edited = endings::keep(&self.text, &edited);
        if read(&edited, self.format)? != *expected {
            return Err(DocumentError::Entangled);
        }
        let bom = if self.bom { BOM } else { "" };
        Ok(format!("{bom}{edited}"))
    }
}

fn read(text: &str, format: Format) -> Result<Value, DocumentError> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match format {
        Format::Json => json::read(text),
        Format::Toml => toml::read(text),
    }
}

fn inside<'a>(values: &'a Value, section: &[&str]) -> Option<&'a Value> {
    section.iter().try_fold(values, |value, key| value.get(key))
}

fn remove(values: &mut Value, section: &[&str], name: &str) {
    let found = section
        .iter()
        .try_fold(values, |value, key| value.get_mut(key));
    if let Some(Value::Object(entries)) = found {
        entries.shift_remove(name);
    }
}

fn merge(old: &mut Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                merge(old.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (old, new) => *old = new.clone(),
    }
}

/// The line and column of a byte offset, counted from 1. Columns count UTF-16 units, as in all our positions.
pub(super) fn position(text: &str, offset: usize) -> (u32, u32) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[start..].encode_utf16().count() + 1;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    (number(line), number(column))
}
