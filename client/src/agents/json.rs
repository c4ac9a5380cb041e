//! JSON with comments: its values, and edits of one property in the concrete syntax tree.
//!
//! Invariant: an edit touches only the object that has the property. A comment above a removed property stays, and a
//! comment on its line goes with it.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode},
    errors::ParseError,
    parse_to_ast,
};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::{
    config_document::nested_value,
    config_document_error::{ConfigDocumentError, utf16_position},
};

/// Some agents accept comments and trailing commas. None accepts the parser's other extensions.
const JSONC_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn read_json(text: &str) -> Result<Value, ConfigDocumentError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &JSONC_OPTIONS)
        .map_err(|error| jsonc_syntax_error(text, &error))?;
    parsed
        .value
        .map(Value::from)
        .filter(Value::is_object)
        .ok_or(ConfigDocumentError::Syntax {
            line: 1,
            column: 1,
            message: "the file must hold one JSON object".into(),
        })
}

/// The source with the entry added. The keys of an existing entry are set one by one.
pub(super) fn put_json_entry(
    text: &str,
    section: &[&str],
    name: &str,
    entry: &Value,
) -> Result<String, ConfigDocumentError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let tree = parse_tree(text)?;
    if let Some(root) = tree.object_value() {
        set_json_value(&root, &[section, &[name]].concat(), entry)?;
    }
    Ok(keep_blank_lines(text, &tree.to_string()))
}

pub(super) fn take_json_entry(
    text: &str,
    section: &[&str],
    name: &str,
) -> Result<String, ConfigDocumentError> {
    let tree = parse_tree(text)?;
    let object = section.iter().fold(tree.object_value(), |object, key| {
        find_property(&object?, key)?.object_value()
    });
    if let Some(property) = object.and_then(|object| find_property(&object, name)) {
        property.remove();
    }
    Ok(tree.to_string())
}

/// Sets the value at a path below an object.
fn set_json_value(
    object: &CstObject,
    path: &[&str],
    value: &Value,
) -> Result<(), ConfigDocumentError> {
    let Some((key, rest)) = path.split_first() else {
        return Ok(());
    };
    let Some(property) = find_property(object, key) else {
        append_property(object, key, &nested_value(rest, value));
        return Ok(());
    };
    match (property.object_value(), value) {
        (Some(inner), _) if !rest.is_empty() => set_json_value(&inner, rest, value),
        (None, _) if !rest.is_empty() => Err(ConfigDocumentError::Shape((*key).into())),
        (Some(inner), Value::Object(fields)) => fields
            .iter()
            .try_for_each(|(key, value)| set_json_value(&inner, &[key], value)),
        _ => {
            if property.to_serde_value().as_ref() != Some(value) {
                property.set_value(if is_minified(object) {
                    CstInputValue::Number(value.to_string())
                } else {
                    to_tree_value(value)
                });
            }
            Ok(())
        }
    }
}

/// Adds a property at the end of an object. The tree puts each property on its own line, except in an object without
/// any whitespace.
fn append_property(object: &CstObject, key: &str, value: &Value) {
    let last = object.properties().pop().filter(|_| is_minified(object));
    let Some((last, old)) = last.and_then(|last| Some((last.clone(), last.value()?))) else {
        object.append(key, to_tree_value(value));
        return;
    };
    let key = Value::from(key);
    // The tree writes a number as it is given.
    last.set_value(CstInputValue::Number(format!("{old},{key}:{value}")));
}

fn is_minified(object: &CstObject) -> bool {
    let children = object.children();
    let mut children = children.iter();
    !children.any(|child| child.is_whitespace() || child.is_newline())
}

/// The edited source with the blank lines that the tree has removed next to braces.
fn keep_blank_lines(old: &str, edited: &str) -> String {
    let mut kept = String::with_capacity(edited.len());
    let mut blank = String::new();
    for change in TextDiff::from_lines(old, edited).iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => kept.push_str(change.value()),
            ChangeTag::Equal => {
                kept.push_str(&blank);
                blank.clear();
                kept.push_str(change.value());
            }
            ChangeTag::Delete if change.value().trim().is_empty() => blank.push_str(change.value()),
            ChangeTag::Delete => {}
        }
    }
    kept + &blank
}

/// The property of this name. Of duplicates, the last one, which takes effect.
fn find_property(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let mut properties = object.properties().into_iter().rev();
    properties.find(|property| property.decoded_name().as_deref() == Some(name))
}

fn to_tree_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(to_tree_value).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, value)| (key.clone(), to_tree_value(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}

fn parse_tree(text: &str) -> Result<CstRootNode, ConfigDocumentError> {
    CstRootNode::parse(text, &JSONC_OPTIONS).map_err(|error| jsonc_syntax_error(text, &error))
}

fn jsonc_syntax_error(text: &str, error: &ParseError) -> ConfigDocumentError {
    let (line, column) = utf16_position(text, error.range().start);
    ConfigDocumentError::Syntax {
        line,
        column,
        message: error.kind().to_string(),
    }
}
