//! TOML: its values, and edits of one table.
//!
//! Invariant: a source has no `\r\n`, which the editor does not keep.

mod headed_tables;
mod values;

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, RawString, Table, TableLike};

pub(super) use self::values::{add_toml_item, set_toml_value};
use self::{
    headed_tables::{add_table, headed_table, keep_comments},
    values::set_value,
};
use super::config_document_error::{ConfigDocumentError, utf16_position};

pub(super) fn read_toml(text: &str) -> Result<Value, ConfigDocumentError> {
    let document = parse_toml(text)?;
    Ok(table_to_json(document.as_table()))
}

fn parse_toml(text: &str) -> Result<DocumentMut, ConfigDocumentError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let offset = error.span().map_or(0, |span| span.start);
        let (line, column) = utf16_position(text, offset);
        ConfigDocumentError::Syntax {
            line,
            column,
            message: error.message().trim().replace('\n', " "),
        }
    })
}

/// The source with the entry added. The keys of an existing entry are set one by one.
pub(super) fn put_toml_entry(
    text: &str,
    section: &[&str],
    name: &str,
    entry: &Value,
) -> Result<String, ConfigDocumentError> {
    let mut document = parse_toml(text)?;
    let table = section_table(&mut document, section)?;
    let within_line = table.is_dotted() || table.iter().any(|(_, item)| item.is_inline_table());
    let old = table.get_mut(name).and_then(Item::as_table_like_mut);
    if let (Some(old), Value::Object(new)) = (old, entry) {
        merge_values(old, new)?;
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

fn merge_values(
    old: &mut dyn TableLike,
    new: &Map<String, Value>,
) -> Result<(), ConfigDocumentError> {
    for (key, value) in new {
        let item = old.get_mut(key);
        let is_equal = item.as_deref().and_then(item_to_json).as_ref() == Some(value);
        let inner = item.and_then(Item::as_table_like_mut);
        if let (Some(inner), Value::Object(new)) = (inner, value) {
            merge_values(inner, new)?;
        } else if !is_equal {
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

fn table_to_json(table: &dyn TableLike) -> Value {
    let entries = table.iter();
    Value::Object(
        entries
            .filter_map(|(key, item)| Some((key.to_owned(), item_to_json(item)?)))
            .collect(),
    )
}

fn item_to_json(item: &Item) -> Option<Value> {
    match item {
        Item::None => None,
        Item::Value(value) => Some(toml_value_to_json(value)),
        Item::Table(table) => Some(table_to_json(table)),
        Item::ArrayOfTables(tables) => {
            Some(tables.iter().map(|table| table_to_json(table)).collect())
        }
    }
}

fn toml_value_to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(values) => values.iter().map(toml_value_to_json).collect(),
        toml_edit::Value::InlineTable(table) => table_to_json(table),
    }
}

fn raw_text(raw: Option<&RawString>) -> String {
    let text = raw.and_then(RawString::as_str);
    text.unwrap_or_default().to_owned()
}
