//! YAML: its values, and edits of one entry.
//!
//! The values come from one parser and the edits from another, which verifies an edit independently.

use serde_json::{Map, Value, json};
use serde_saphyr::{MessageFormatter as _, UserMessageFormatter};
use yaml_edit::{Document, Mapping, YamlFile};

use super::{
    config_document::nested_value,
    config_document_error::{ConfigDocumentError, utf16_position},
};

pub(super) fn read_yaml(text: &str) -> Result<Value, ConfigDocumentError> {
    let mut options = serde_saphyr::Options::default();
    // YAML 1.1 reads `no` and `on` as booleans. Here they are strings.
    options.strict_booleans = true;
    options.with_snippet = false;
    let values = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| yaml_syntax_error(text, &error))?;
    match values {
        Value::Object(_) => Ok(values),
        // The file has only comments.
        Value::Null => Ok(Value::Object(Map::new())),
        _ => Err(ConfigDocumentError::Syntax {
            line: 1,
            column: 1,
            message: "the file must hold one YAML mapping".into(),
        }),
    }
}

/// The source with the entry added. The keys of an existing entry are set one by one.
pub(super) fn put_yaml_entry(
    text: &str,
    section: &[&str],
    name: &str,
    entry: &Value,
) -> Result<String, ConfigDocumentError> {
    let path = [section, &[name]].concat();
    let file = parse_yaml(text)?;
    let Some(root) = root_mapping(&file) else {
        // Only comments need to be kept.
        let gap = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let whole = yaml_document(&nested_value(&path, entry))?;
        return Ok(format!("{text}{gap}{whole}"));
    };
    set_yaml_value(&root, &path, &read_yaml(text)?, entry)?;
    Ok(file.to_string())
}

pub(super) fn take_yaml_entry(
    text: &str,
    section: &[&str],
    name: &str,
) -> Result<String, ConfigDocumentError> {
    let file = parse_yaml(text)?;
    let mut mapping = root_mapping(&file);
    for key in section {
        mapping = mapping.and_then(|outer| outer.get_mapping(*key));
    }
    if let Some(mapping) = mapping {
        mapping.remove(name);
    }
    Ok(file.to_string())
}

/// Sets the value at a path below a mapping, whose values are in `old`.
fn set_yaml_value(
    mapping: &Mapping,
    path: &[&str],
    old: &Value,
    value: &Value,
) -> Result<(), ConfigDocumentError> {
    let Some((key, rest)) = path.split_first() else {
        return Ok(());
    };
    let old = &old[*key];
    let inner = mapping.get_mapping(*key);
    match (inner, value) {
        (Some(inner), _) if !rest.is_empty() => return set_yaml_value(&inner, rest, old, value),
        (Some(inner), Value::Object(fields)) => {
            return fields
                .iter()
                .try_for_each(|(key, value)| set_yaml_value(&inner, &[key], old, value));
        }
        _ if !rest.is_empty() && !old.is_null() => {
            return Err(ConfigDocumentError::Shape((*key).into()));
        }
        _ => {}
    }
    let value = nested_value(rest, value);
    if *old != value {
        let holder = yaml_document(&json!({ *key: value }))?;
        mapping.set(*key, holder.get(*key));
    }
    Ok(())
}

fn parse_yaml(text: &str) -> Result<YamlFile, ConfigDocumentError> {
    let file: Option<YamlFile> = text.parse().ok();
    // The editor must not write a file that it does not understand.
    file.filter(|file| file.to_string() == text)
        .ok_or(ConfigDocumentError::Entangled)
}

fn root_mapping(file: &YamlFile) -> Option<Mapping> {
    file.document()?.as_mapping()
}

/// A document in block style, with strings quoted where that is necessary.
fn yaml_document(value: &Value) -> Result<Document, ConfigDocumentError> {
    let mut options = serde_saphyr::SerializerOptions::default();
    // As the editor writes lists.
    options.compact_list_indent = false;
    let text = serde_saphyr::to_string_with_options(value, options)
        .map_err(|_| ConfigDocumentError::Entangled)?;
    text.parse().map_err(|_| ConfigDocumentError::Entangled)
}

fn yaml_syntax_error(text: &str, error: &serde_saphyr::Error) -> ConfigDocumentError {
    let location = error.location().unwrap_or(serde_saphyr::Location::UNKNOWN);
    let number = |number: u64| usize::try_from(number).unwrap_or_default().max(1);
    let line = number(location.line());
    let column = number(location.column());
    // The parser counts characters.
    let starts = text.split_inclusive('\n').take(line - 1);
    let start: usize = starts.map(str::len).sum();
    let before = text[start..].chars().take(column - 1);
    let offset = start + before.map(char::len_utf8).sum::<usize>();
    let (line, column) = utf16_position(text, offset);
    ConfigDocumentError::Syntax {
        line,
        column,
        message: UserMessageFormatter.format_message(error).into_owned(),
    }
}
