//! The keywords of JSON Schema, and their values as servers write them.
//!
//! Invariant: a value is read only if its meaning is certain. A number or boolean written as a
//! string is certain.

use serde_json::{Map, Number, Value};

use super::{UNRESOLVED_KEYWORD, losses::LOST_KEYWORD};

/// The kind of value that a keyword has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeywordKind {
    Schema,
    /// A list of schemas.
    Schemas,
    /// Schemas by names.
    SchemaMap,
    /// A schema, or the list of a tuple.
    Items,
    AdditionalItems,
    Dependencies,
    Reference,
    Type,
    /// An exclusive bound; up to draft 4 a boolean beside the inclusive one.
    Bound {
        inclusive: &'static str,
    },
    /// An inclusive bound.
    Number {
        exclusive: &'static str,
    },
    Divisor,
    Count,
    Boolean,
    /// A list of any values.
    Values,
    /// A list of property names.
    Names,
    /// Lists of property names by names.
    NameMap,
    Pattern,
    /// Read elsewhere, or without meaning here.
    Ignored,
}

impl KeywordKind {
    /// Returns true if the value is copied unchanged.
    pub(super) fn is_copied(self) -> bool {
        matches!(
            self,
            Self::Values | Self::Names | Self::NameMap | Self::Pattern
        )
    }
}

/// The kind of a keyword; `None` for annotations and unknown keywords, which are kept unchanged.
pub(super) fn kind_of(keyword: &str) -> Option<KeywordKind> {
    Some(match keyword {
        "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "contentSchema" => KeywordKind::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordKind::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" => KeywordKind::SchemaMap,
        "items" => KeywordKind::Items,
        "additionalItems" => KeywordKind::AdditionalItems,
        "dependencies" => KeywordKind::Dependencies,
        "$ref" | "$dynamicRef" | "$recursiveRef" => KeywordKind::Reference,
        "type" => KeywordKind::Type,
        "exclusiveMinimum" => KeywordKind::Bound {
            inclusive: "minimum",
        },
        "exclusiveMaximum" => KeywordKind::Bound {
            inclusive: "maximum",
        },
        "minimum" => KeywordKind::Number {
            exclusive: "exclusiveMinimum",
        },
        "maximum" => KeywordKind::Number {
            exclusive: "exclusiveMaximum",
        },
        "multipleOf" => KeywordKind::Divisor,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => KeywordKind::Count,
        "uniqueItems" => KeywordKind::Boolean,
        "enum" => KeywordKind::Values,
        "required" => KeywordKind::Names,
        "dependentRequired" => KeywordKind::NameMap,
        "pattern" => KeywordKind::Pattern,
        // Definitions are read where they are referenced.
        "$defs" | "definitions" | "nullable" | "x-nullable" => KeywordKind::Ignored,
        _ => return None,
    })
}

/// Keywords that give a schema its identity, which the normal form does without.
pub(super) fn is_identity(keyword: &str) -> bool {
    matches!(
        keyword,
        "$schema" | "$vocabulary" | "$id" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor"
    )
}

/// Returns true for keywords that describe a value and check nothing.
pub(super) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "example"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$comment"
            | "nullable"
            | "x-nullable"
    )
}

/// Keywords of our own, which no server can set.
pub(super) fn is_mark(keyword: &str) -> bool {
    matches!(keyword, LOST_KEYWORD | UNRESOLVED_KEYWORD)
}

/// Allows all other members and items where the list of the known ones could not be read.
pub(super) fn open_where_lost(members: &Map<String, Value>, normal: &mut Map<String, Value>) {
    let is_lost = |keyword: &str, normal: &Map<String, Value>| {
        let written = members.get(keyword);
        written.is_some_and(|value| !says_nothing(value)) && !normal.contains_key(keyword)
    };
    if is_lost("properties", normal) || is_lost("patternProperties", normal) {
        normal.shift_remove("additionalProperties");
        normal.shift_remove("unevaluatedProperties");
    }
    if is_lost("prefixItems", normal) {
        normal.shift_remove("items");
        normal.shift_remove("unevaluatedItems");
    }
}

/// Values that serializers write for a keyword that is not set.
pub(super) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

pub(super) fn to_number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => text.trim().parse::<Number>().ok().map(Value::Number),
        _ => None,
    }
}

pub(super) fn to_divisor(value: &Value) -> Option<Value> {
    to_number(value).filter(|number| number.as_f64().is_some_and(|number| number > 0.0))
}

pub(super) fn to_count(value: &Value) -> Option<Value> {
    let number = to_number(value)?;
    if number.is_u64() {
        return Some(number);
    }
    let number = number.as_f64()?;
    let is_count = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "only used if in range"
    )]
    let count = number as u64;
    is_count.then(|| Value::from(count))
}

pub(super) fn to_boolean(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) => text.to_lowercase().parse::<bool>().ok().map(Value::Bool),
        _ => None,
    }
}

pub(super) fn approximate_bytes(value: &Value) -> usize {
    const VALUE_BYTES: usize = 16;
    let inside: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(approximate_bytes).sum(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, value)| name.len() + approximate_bytes(value))
                .sum()
        }
        _ => 0,
    };
    VALUE_BYTES + inside
}

/// A list of values without repetitions.
pub(super) fn to_values(value: &Value) -> Option<Value> {
    let list = value.as_array().filter(|list| !list.is_empty())?;
    let mut seen = std::collections::HashSet::new();
    let distinct = list.iter().filter(|value| seen.insert(value.to_string()));
    Some(distinct.cloned().collect())
}

/// A list of names, or one name.
pub(super) fn to_names(value: &Value) -> Option<Value> {
    let names: Vec<&str> = match value {
        Value::String(name) => vec![name],
        Value::Array(names) if names.iter().all(Value::is_string) => {
            names.iter().filter_map(Value::as_str).collect()
        }
        _ => return None,
    };
    let mut seen = std::collections::HashSet::new();
    Some(
        names
            .into_iter()
            .filter(|name| seen.insert(*name))
            .collect(),
    )
}

pub(super) fn to_name_map(value: &Value) -> Option<Value> {
    let lists = value.as_object()?.iter();
    let lists = lists.filter_map(|(name, names)| Some((name.clone(), to_names(names)?)));
    Some(Value::Object(lists.collect::<Map<_, _>>()))
}
