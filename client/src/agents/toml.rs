//! TOML: its values, and edits of one table.
//!
//! Invariant: a source has no `\r\n`, which the editor does not keep.

mod headed_tables;
mod values;

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{
    Array, DocumentMut, InlineTable, Item, RawString, Table, TableLike, de::from_document,
};

pub(super) use self::values::{add_toml_item, set_toml_value};
use self::{
    headed_tables::{add_table, headed_table, keep_comments},
    values::set_value,
};
use super::config_document_error::{ConfigDocumentError, utf16_position};

pub(super) fn read_toml(text: &str) -> Result<Value, ConfigDocumentError> {
    from_document(parse_toml(text)?)
        .map_err(|error| syntax_error(text, error.span(), error.message()))
}

fn parse_toml(text: &str) -> Result<DocumentMut, ConfigDocumentError> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| syntax_error(text, error.span(), error.message()))
}

fn syntax_error(text: &str, span: Option<Range<usize>>, message: &str) -> ConfigDocumentError {
    let offset = span.map_or(0, |span| span.start);
    let (line, column) = utf16_position(text, offset);
    ConfigDocumentError::Syntax {
        line,
        column,
        message: message.trim().replace('\n', " "),
    }
}

/// The source with the entry added. The keys of an existing entry are set one by one.
pub(super) fn put_toml_entry(
    text: &str,
    section: &[&str],
    name: &str,
    entry: &Value,
) -> Result<String, ConfigDocumentError> {
    let mut document = parse_toml(text)?;
    let values = read_toml(text)?;
    let path = section.iter().chain([&name]);
    let before = path.fold(&values, |value, key| &value[*key]);
    let table = section_table(&mut document, section)?;
    let within_line = table.is_dotted() || table.iter().any(|(_, item)| item.is_inline_table());
    let old = table.get_mut(name).and_then(Item::as_table_like_mut);
    if let (Some(old), Value::Object(new)) = (old, entry) {
        merge_values(old, before, new)?;
    } else if within_line || table.contains_key(name) {
        set_value(table, &[name], entry)?;
    } else {
        add_table(&mut document, section, name, headed_table(entry))?;
    }
    Ok(document.to_string())
}

pub(super) fn take_toml_entry(
    text: &str,
    section: &[&str],
    name: &str,
) -> Result<String, ConfigDocumentError> {
    if let Some(rest) = values::without_lines(text, section, name) {
        return Ok(rest);
    }
    let mut document = parse_toml(text)?;
    if let Some(removed) = section_table(&mut document, section)?.remove(name) {
        keep_comments(&mut document, removed);
    }
    Ok(document.to_string())
}

/// The table of entries, created if it does not exist.
fn section_table<'a>(
    document: &'a mut DocumentMut,
    section: &[&str],
) -> Result<&'a mut dyn TableLike, ConfigDocumentError> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in section {
        let item = table.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        table = item
            .as_table_like_mut()
            .ok_or_else(|| ConfigDocumentError::Shape((*key).into()))?;
    }
    Ok(table)
}

/// Sets the keys one by one. `before` has the values of the table.
fn merge_values(
    old: &mut dyn TableLike,
    before: &Value,
    new: &Map<String, Value>,
) -> Result<(), ConfigDocumentError> {
    for (key, value) in new {
        let inner = old.get_mut(key).and_then(Item::as_table_like_mut);
        if let (Some(inner), Value::Object(new)) = (inner, value) {
            merge_values(inner, &before[key], new)?;
        } else if before.get(key) != Some(value) {
            set_value(old, &[key], value)?;
        }
    }
    Ok(())
}

/// Converts a JSON value. Null becomes an empty string, but our own entries contain none.
fn to_inline_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Null => "".into(),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            (None, float) => float.unwrap_or_default().into(),
        },
        Value::String(text) => text.into(),
        Value::Array(values) => values.iter().map(to_inline_value).collect::<Array>().into(),
        Value::Object(values) => values
            .iter()
            .map(|(key, value)| (key, to_inline_value(value)))
            .collect::<InlineTable>()
            .into(),
    }
}

fn raw_text(raw: Option<&RawString>) -> String {
    let text = raw.and_then(RawString::as_str);
    text.unwrap_or_default().to_owned()
}
