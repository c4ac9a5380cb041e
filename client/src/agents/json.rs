//! JSON with comments: its values, and edits of one property in the source.
//!
//! Invariant: the source is never reformatted. An edit inserts, replaces or removes one piece.

mod layout;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{self, Object, ObjectProp},
    common::Ranged as _,
    parse_to_ast,
};
use serde_json::Value;

use self::layout::JsonLayout;
use super::config_document_error::{ConfigDocumentError, utf16_position};

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
    let value = parse_jsonc(text)?.map(Value::from);
    value
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
    let mut text = match text.trim() {
        "" => "{}\n".to_owned(),
        _ => text.to_owned(),
    };
    let mut path: Vec<&str> = section.to_vec();
    path.push(name);
    set_json_path(&mut text, &path, entry)?;
    Ok(text)
}

pub(super) fn take_json_entry(
    text: &str,
    section: &[&str],
    name: &str,
) -> Result<String, ConfigDocumentError> {
    let root = parse_root_object(text)?;
    let mut found = Some(&root);
    for key in section {
        found = found.and_then(|object| match find_property(object, key)?.value {
            ast::Value::Object(ref inner) => Some(inner),
            _ => None,
        });
    }
    let Some(object) = found else {
        return Ok(text.to_owned());
    };
    let index = object
        .properties
        .iter()
        .rposition(|p| p.name.as_str() == name);
    Ok(index.map_or_else(
        || text.to_owned(),
        |index| layout::without_property(text, object, index),
    ))
}

/// Sets the value at a path, and creates missing objects on the way.
fn set_json_path(
    text: &mut String,
    path: &[&str],
    value: &Value,
) -> Result<(), ConfigDocumentError> {
    let root = parse_root_object(text)?;
    let mut object = &root;
    for (depth, key) in path.iter().enumerate() {
        let last = depth + 1 == path.len();
        match find_property(object, key).map(|property| &property.value) {
            None => {
                // The missing part of the path is inserted as one piece.
                let mut whole = value.clone();
                for key in path[depth + 1..].iter().rev() {
                    whole = serde_json::json!({ *key: whole });
                }
                *text = JsonLayout::of(text, &root).with_property(text, object, key, &whole);
                return Ok(());
            }
            Some(ast::Value::Object(inner)) if !last => object = inner,
            Some(_) if !last => return Err(ConfigDocumentError::Shape((*key).into())),
            Some(ast::Value::Object(_)) if value.is_object() => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    let mut deeper = path.to_vec();
                    deeper.push(key);
                    set_json_path(text, &deeper, value)?;
                }
                return Ok(());
            }
            Some(old) => {
                let range = old.range();
                if Value::from(old.clone()) != *value {
                    let piece =
                        JsonLayout::of(text, &root).format_replacement(text, range.start, value);
                    text.replace_range(range.start..range.end, &piece);
                }
                return Ok(());
            }
        }
    }
    Ok(())
}

fn parse_root_object(text: &str) -> Result<Object<'_>, ConfigDocumentError> {
    match parse_jsonc(text)? {
        Some(ast::Value::Object(object)) => Ok(object),
        _ => Err(ConfigDocumentError::Shape("the file".into())),
    }
}

fn parse_jsonc(text: &str) -> Result<Option<ast::Value<'_>>, ConfigDocumentError> {
    parse_to_ast(text, &CollectOptions::default(), &JSONC_OPTIONS)
        .map(|parsed| parsed.value)
        .map_err(|error| jsonc_syntax_error(text, &error))
}

/// The property of this name. Of duplicates, the last one, which takes effect.
fn find_property<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    let mut properties = object.properties.iter().rev();
    properties.find(|property| property.name.as_str() == name)
}

fn jsonc_syntax_error(text: &str, error: &jsonc_parser::errors::ParseError) -> ConfigDocumentError {
    let (line, column) = utf16_position(text, error.range().start);
    ConfigDocumentError::Syntax {
        line,
        column,
        message: error.kind().to_string(),
    }
}
