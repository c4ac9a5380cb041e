//! Edits of one value, and of one item of a list of tables.
//!
//! Invariant: a comment after a value stays with the key, and a comment above a removed value stays in the file.

use serde_json::Value;
use toml_edit::{Array, Document, InlineTable, Item, Table, TableLike, Value as TomlValue};

use super::{
    super::config_document_error::ConfigDocumentError,
    headed_tables::{add_table, find_item, headed_table, insert_first_table, push_table},
    parse_toml, raw_text, section_table, to_inline_value,
};

/// The source with the value at a path set. The first `headed` keys are a table with a header. Missing tables below
/// it become inline tables.
pub(in crate::agents) fn set_toml_value(
    text: &str,
    path: &[&str],
    headed: usize,
    value: &Value,
) -> Result<String, ConfigDocumentError> {
    let (section, rest) = path.split_at(headed);
    let mut document = parse_toml(text)?;
    if find_item(document.as_item_mut(), section).is_some() {
        let table = section_table(&mut document, section);
        let no_table = |_| ConfigDocumentError::NoTable(section.join("."));
        set_value(table.map_err(no_table)?, rest, value)?;
    } else if let Some((name, above)) = section.split_last() {
        let mut table = Table::new();
        set_value(&mut table, rest, value)?;
        add_table(&mut document, above, name, table)?;
    }
    Ok(document.to_string())
}

/// Sets the value at a path below a table. Missing tables become inline tables.
pub(super) fn set_value(
    table: &mut dyn TableLike,
    path: &[&str],
    value: &Value,
) -> Result<(), ConfigDocumentError> {
    let Some((key, rest)) = path.split_first() else {
        return Ok(());
    };
    if !table.contains_key(key) {
        trim_last_value(table);
    }
    if !rest.is_empty() {
        let inner = table.entry(key).or_insert_with(|| {
            let empty = InlineTable::new();
            Item::Value(empty.into())
        });
        let inner = inner
            .as_table_like_mut()
            .ok_or_else(|| ConfigDocumentError::NoTable((*key).into()))?;
        return set_value(inner, rest, value);
    }
    let mut new = to_inline_value(value);
    if let Some(Item::Value(old)) = table.get(key) {
        *new.decor_mut() = old.decor().clone();
    }
    match table.get_mut(key) {
        Some(item) => *item = Item::Value(new),
        None => drop(table.insert(key, Item::Value(new))),
    }
    Ok(())
}

/// Removes the blank between the last value of an inline table and its brace, which would be before a comma.
fn trim_last_value(table: &mut dyn TableLike) {
    let last = table.iter().last().map(|(key, _)| key.to_owned());
    let last = last.and_then(|key| table.get_mut(&key));
    if let Some(Item::Value(value)) = last {
        let suffix = value.decor().suffix().and_then(|suffix| suffix.as_str());
        if suffix.is_some_and(|suffix| suffix.chars().all(|c| c == ' ')) {
            value.decor_mut().set_suffix("");
        }
    }
}

/// The source without the lines of a value, or `None` if the value is in an inline table or is a table with a header.
pub(super) fn without_lines(text: &str, section: &[&str], name: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let mut above = section
        .iter()
        .scan(document.as_item(), |item, key| {
            *item = item.as_table_like()?.get(key)?;
            Some(*item)
        })
        .collect::<Vec<_>>();
    above.insert(0, document.as_item());
    if above.len() != section.len() + 1 || above.iter().any(|item| !item.is_table()) {
        return None;
    }
    let (key, item) = above.last()?.as_table()?.get_key_value(name)?;
    let first = key.span()?.start;
    let last = item.as_value()?.span()?.end;
    let start = text[..first].rfind('\n').map_or(0, |end| end + 1);
    let end = text[last..]
        .find('\n')
        .map_or(text.len(), |at| last + at + 1);
    Some(format!("{}{}", &text[..start], &text[end..]))
}

/// The source with a table added to a list of tables, as its first item or as its last.
pub(in crate::agents) fn add_toml_item(
    text: &str,
    list: &str,
    item: &Value,
    is_last: bool,
) -> Result<String, ConfigDocumentError> {
    let mut document = parse_toml(text)?;
    if let Some(Item::Value(value)) = document.get_mut(list) {
        let array = value
            .as_array_mut()
            .ok_or_else(|| ConfigDocumentError::NoTable(list.into()))?;
        let new = to_inline_value(item);
        if is_last {
            push_last(array, new);
        } else {
            insert_first(array, new);
        }
    } else if is_last {
        push_table(&mut document, list, headed_table(item));
    } else {
        insert_first_table(&mut document, text, list, headed_table(item));
    }
    Ok(document.to_string())
}

/// Inserts a value before the others, indented as they are. A comment above the first one stays with it.
fn insert_first(array: &mut Array, mut new: TomlValue) {
    if let Some(first) = array.get_mut(0) {
        let before = raw_text(first.decor().prefix());
        let (prefix, rest) = match before.split_once('\n') {
            Some((same_line, rest)) => (
                format!("{same_line}\n{}", indent(&before).unwrap_or_default()),
                format!("\n{rest}"),
            ),
            None => (before, " ".into()),
        };
        first.decor_mut().set_prefix(rest);
        new.decor_mut().set_prefix(prefix);
    }
    array.insert_formatted(0, new);
}

/// Inserts a value after the others, indented as they are. A comment behind the last one stays with it.
fn push_last(array: &mut Array, mut new: TomlValue) {
    let has_comma = array.trailing_comma();
    let trailing = raw_text(Some(array.trailing()));
    if let Some(last) = array.iter_mut().last() {
        let before = raw_text(last.decor().prefix());
        let after = if has_comma {
            trailing
        } else {
            raw_text(last.decor().suffix())
        };
        let indent = indent(&before);
        let (prefix, rest) = match after.rsplit_once('\n') {
            Some((comments, rest)) => (
                format!("{comments}\n{}", indent.unwrap_or_default()),
                format!("\n{rest}"),
            ),
            None => (
                indent.map_or_else(|| " ".into(), |indent| format!("\n{indent}")),
                after,
            ),
        };
        new.decor_mut().set_prefix(prefix);
        if has_comma {
            array.set_trailing(rest);
        } else {
            last.decor_mut().set_suffix("");
            new.decor_mut().set_suffix(rest);
        }
    }
    array.push_formatted(new);
}

/// The indentation of a value that has its own line.
fn indent(before: &str) -> Option<&str> {
    before.rsplit_once('\n').map(|(_, indent)| indent)
}
