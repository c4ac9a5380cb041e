//! TOML: its values, and edits of one table.
//!
//! Tables with headers are inserted into and removed from the text directly, because a comment above a header belongs
//! to the user and not to the table.

mod blocks;

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::document::{DocumentError, position};

pub(super) fn read(text: &str) -> Result<Value, DocumentError> {
    let document = open(text)?;
    Ok(object(document.as_table()))
}

fn open(text: &str) -> Result<DocumentMut, DocumentError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let offset = error.span().map_or(0, |span| span.start);
        let (line, column) = position(text, offset);
        DocumentError::Syntax {
            line,
            column,
            message: error.message().trim().replace('\n', " "),
        }
    })
}

/// The text with the entry added. The keys of an existing entry are set one by one.
pub(super) fn put(
    text: &str,
    section: &[&str],
    name: &str,
    entry: &Value,
) -> Result<String, DocumentError> {
    let mut document = open(text)?;
    let table = entries(&mut document, section)?;
    if let (Some(old), Value::Object(new)) =
        (table.get_mut(name).and_then(Item::as_table_like_mut), entry)
    {
        set(old, new);
        return Ok(document.to_string());
    }
    let within_line = table.is_dotted() || table.iter().any(|(_, item)| item.is_inline_table());
    if within_line || table.contains_key(name) {
        table.insert(name, value(inline(entry)));
        return Ok(document.to_string());
    }
    let mut alone = DocumentMut::new();
    entries(&mut alone, section)?.insert(name, new_table(entry));
    let piece = alone.to_string();
    Ok(blocks::with(text, section, piece.trim_start()))
}

pub(super) fn take(text: &str, section: &[&str], name: &str) -> Result<String, DocumentError> {
    if let Some(rest) = blocks::without(text, section, name) {
        return Ok(rest);
    }
    let mut document = open(text)?;
    entries(&mut document, section)?.remove(name);
    Ok(document.to_string())
}

/// The table of entries, created if it does not exist.
fn entries<'a>(
    document: &'a mut DocumentMut,
    section: &[&str],
) -> Result<&'a mut dyn TableLike, DocumentError> {
    let mut place: &mut dyn TableLike = document.as_table_mut();
    for key in section {
        let item = place.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        place = item
            .as_table_like_mut()
            .ok_or_else(|| DocumentError::Shape((*key).into()))?;
    }
    Ok(place)
}

fn set(old: &mut dyn TableLike, new: &Map<String, Value>) {
    for (key, value) in new {
        let found = old.get_mut(key);
        match (found, value) {
            (Some(item), Value::Object(new)) if item.is_table_like() => {
                if let Some(old) = item.as_table_like_mut() {
                    set(old, new);
                }
            }
            (Some(item), value) => {
                if json(item).as_ref() != Some(value) {
                    *item = Item::Value(inline(value));
                }
            }
            (None, new) => {
                old.insert(key, Item::Value(inline(new)));
            }
        }
    }
}

/// Creates a table with its own header.
fn new_table(entry: &Value) -> Item {
    let mut table = Table::new();
    for (key, entry) in entry.as_object().into_iter().flatten() {
        table.insert(key, value(inline(entry)));
    }
    Item::Table(table)
}

/// Converts a JSON value. Null becomes an empty string, but our own entries contain none.
fn inline(value: &Value) -> toml_edit::Value {
    match value {
        Value::Null => "".into(),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            (None, float) => float.unwrap_or_default().into(),
        },
        Value::String(text) => text.into(),
        Value::Array(values) => values.iter().map(inline).collect::<Array>().into(),
        Value::Object(values) => values
            .iter()
            .map(|(key, value)| (key, inline(value)))
            .collect::<InlineTable>()
            .into(),
    }
}

fn object(table: &dyn TableLike) -> Value {
    let entries = table.iter();
    Value::Object(
        entries
            .filter_map(|(key, item)| Some((key.to_owned(), json(item)?)))
            .collect(),
    )
}

fn json(item: &Item) -> Option<Value> {
    match item {
        Item::None => None,
        Item::Value(value) => Some(json_value(value)),
        Item::Table(table) => Some(object(table)),
        Item::ArrayOfTables(tables) => Some(tables.iter().map(|table| object(table)).collect()),
    }
}

fn json_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(values) => values.iter().map(json_value).collect(),
        toml_edit::Value::InlineTable(table) => object(table),
    }
}
