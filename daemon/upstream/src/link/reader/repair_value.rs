//! Makes a value fit its shape, member by member, and counts each repair.
//!
//! Invariant: a value that already fits is not changed. If a value cannot be repaired, only that value is lost.

use std::fmt;

use serde_json::{Map, Number, Value, json};

use super::{
    repairs::{Repair, Repairs},
    shapes::{Presence, Shape},
};

/// The depth to which schemas are searched for empty arrays. `mux_typegen::normal_form` reads everything else in a
/// schema.
const MAX_SCHEMA_DEPTH: usize = 64;
/// Schema keywords whose value maps names to schemas.
const SCHEMA_MAPS: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];
/// Schema keywords whose value is a schema or a list of schemas.
const SUBSCHEMAS: [&str; 15] = [
    "items",
    "prefixItems",
    "additionalProperties",
    "additionalItems",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
    "contains",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
];

/// The keywords among them whose value may be an empty list.
const SCHEMA_LISTS: [&str; 5] = ["items", "prefixItems", "anyOf", "oneOf", "allOf"];

/// A position within a message, from the method on.
#[derive(Clone, Copy)]
pub(super) struct Position<'a> {
    parent: Option<&'a Position<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Method(&'a str),
    Member(&'a str),
    Element(usize, &'a str),
}

impl<'a> Position<'a> {
    pub(super) fn in_message(method: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Method(method),
        }
    }

    fn member<'b>(&'b self, name: &'b str) -> Position<'b> {
        Position {
            parent: Some(self),
            step: Step::Member(name),
        }
    }

    fn element<'b>(&'b self, index: usize, name: &'b str) -> Position<'b> {
        Position {
            parent: Some(self),
            step: Step::Element(index, name),
        }
    }
}

impl fmt::Display for Position<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        let is_first = self.parent.is_some_and(|parent| parent.parent.is_none());
        match self.step {
            Step::Method(method) => f.write_str(method),
            Step::Member(name) if is_first => write!(f, ": {name}"),
            Step::Member(name) => write!(f, ".{name}"),
            Step::Element(index, "") => write!(f, "[{index}]"),
            Step::Element(index, name) => write!(f, "[{index}] ({name})"),
        }
    }
}

/// Repairs a value at a position. Returns false if the value cannot be used.
pub(super) fn repair_value(
    value: &mut Value,
    shape: &Shape,
    position: Position<'_>,
    repairs: &Repairs,
) -> bool {
    match shape {
        Shape::Any => !value.is_null(),
        Shape::String => is_or_becomes(value, Value::is_string, to_string, position, repairs),
        Shape::Name => {
            is_or_becomes(value, Value::is_string, to_string, position, repairs) && *value != ""
        }
        Shape::Boolean => is_or_becomes(value, Value::is_boolean, to_boolean, position, repairs),
        Shape::Number => is_or_becomes(value, Value::is_number, to_number, position, repairs),
        Shape::Unsigned => is_or_becomes(value, Value::is_u64, to_unsigned, position, repairs),
        Shape::OneOf(names) => {
            let is_one = |value: &Value| value.as_str().is_some_and(|it| names.contains(&it));
            let to_one = |value: &Value| closest_name(value.as_str()?, names);
            is_or_becomes(value, is_one, to_one, position, repairs)
        }
        Shape::Object(members) => {
            let Some(object) = as_object(value, position, repairs) else {
                return false;
            };
            members
                .iter()
                .all(|member| repair_member(object, member, position, repairs))
        }
        Shape::Map(shape) => {
            let Some(object) = as_object(value, position, repairs) else {
                return false;
            };
            object.retain(|name, value| {
                let position = position.member(name);
                let fits = repair_value(value, shape, position, repairs);
                if !fits {
                    repairs.record(Repair::WrongType, position);
                }
                fits
            });
            true
        }
        Shape::List(shape) => repair_list(value, shape, position, repairs),
        Shape::Content => repair_content(value, position, repairs),
        Shape::Schema => repair_schema(value, position, repairs, 0),
    }
}

fn repair_member(
    object: &mut Map<String, Value>,
    member: &super::shapes::Member,
    position: Position<'_>,
    repairs: &Repairs,
) -> bool {
    let position = position.member(member.name);
    let problem = match object.get_mut(member.name) {
        None => Repair::MissingMember,
        Some(value) => {
            if repair_value(value, &member.shape, position, repairs) {
                return true;
            }
            if value.is_null() {
                Repair::Null
            } else {
                Repair::WrongType
            }
        }
    };
    match member.presence {
        Presence::Required => return false,
        Presence::Optional => {
            if object.shift_remove(member.name).is_some() {
                repairs.record(problem, position);
            }
        }
        Presence::Default(value) => {
            object.insert(member.name.to_owned(), value());
            repairs.record(problem, position);
        }
    }
    true
}

/// The value as an object, if it is an object, an empty list, or true.
fn as_object<'a>(
    value: &'a mut Value,
    position: Position<'_>,
    repairs: &Repairs,
) -> Option<&'a mut Map<String, Value>> {
    if value.as_array().is_some_and(Vec::is_empty) {
        repairs.record(Repair::EmptyArray, position);
        *value = Value::Object(Map::new());
    }
    if *value == true {
        repairs.record(Repair::Converted, position);
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

/// Repairs each element. Unusable elements are left out.
fn repair_list(
    value: &mut Value,
    shape: &Shape,
    position: Position<'_>,
    repairs: &Repairs,
) -> bool {
    if !list_of_object(value, position, repairs) {
        return false;
    }
    let Value::Array(elements) = value else {
        return false;
    };
    let mut index = 0;
    elements.retain_mut(|element| {
        let name = element_name(element);
        let position = position.element(index, &name);
        index += 1;
        let fits = repair_value(element, shape, position, repairs);
        if !fits {
            let reason = unusable_reason(element, shape);
            repairs.record(Repair::LeftOut, format_args!("{position}: {reason}"));
        }
        fits
    });
    true
}

/// Turns an object that stands for a list into a list: `{}`, or an object with gaps such as `{"0": …, "2": …}`. Returns
/// false if the value is neither.
fn list_of_object(value: &mut Value, position: Position<'_>, repairs: &Repairs) -> bool {
    if let Value::Object(object) = value {
        let is_list = object.keys().all(|key| key.parse::<u32>().is_ok());
        if !is_list {
            return false;
        }
        repairs.record(Repair::ObjectAsList, position);
        let elements = std::mem::take(object).into_iter();
        *value = Value::Array(elements.map(|(_, element)| element).collect());
    }
    value.is_array()
}

/// The name of a list element for messages, if it has one.
fn element_name(element: &Value) -> String {
    let name = ["name", "uri", "uriTemplate"]
        .iter()
        .find_map(|key| element.get(key)?.as_str());
    name.unwrap_or_default().to_owned()
}

/// The reason a list element cannot be used.
fn unusable_reason(element: &Value, shape: &Shape) -> String {
    let Shape::Object(members) = shape else {
        return "the wrong type".into();
    };
    if !element.is_object() {
        return "not an object".into();
    }
    let required = members
        .iter()
        .filter(|member| matches!(member.presence, Presence::Required));
    let names: Vec<String> = required
        .map(|member| format!("`{}`", member.name))
        .collect();
    format!("no usable {}", names.join(", "))
}

/// Repairs content blocks: a single value becomes a list of one, and a value that is not a block becomes a text block.
fn repair_content(value: &mut Value, position: Position<'_>, repairs: &Repairs) -> bool {
    const BLOCK: Shape = Shape::Object(&[]);
    let is_block = value.get("type").is_some() || value.get("text").is_some();
    let is_scalar = value.is_string() || value.is_number() || value.is_boolean();
    if is_block || is_scalar {
        repairs.record(Repair::Converted, position);
        *value = json!([value.take()]);
    }
    if !list_of_object(value, position, repairs) {
        return false;
    }
    let blocks = value.as_array_mut().into_iter().flatten();
    for (index, element) in blocks.enumerate() {
        repair_block(element, position.element(index, ""), repairs);
    }
    repair_list(value, &BLOCK, position, repairs)
}

fn repair_block(element: &mut Value, position: Position<'_>, repairs: &Repairs) {
    if element.is_string() || element.is_number() || element.is_boolean() {
        repairs.record(Repair::Converted, position);
        *element = json!({ "type": "text", "text": element.take() });
    }
    let Value::Object(block) = element else {
        return;
    };
    let has_kind = block.get("type").is_some_and(Value::is_string);
    if !has_kind && block.get("text").is_some_and(Value::is_string) {
        repairs.record(Repair::MissingMember, position.member("type"));
        block.insert("type".into(), json!("text"));
    }
    if block.get("type").is_some_and(|kind| kind == "text") {
        repair_text_block(block, position, repairs);
    }
    for name in ["_meta", "annotations"] {
        if block.get(name).is_some_and(|member| !member.is_object()) {
            block.shift_remove(name);
            repairs.record(Repair::WrongType, position.member(name));
        }
    }
}

/// A text block always has a string: another value is shown as JSON.
fn repair_text_block(block: &mut Map<String, Value>, position: Position<'_>, repairs: &Repairs) {
    let text = match block.get("text") {
        Some(Value::String(_)) => return,
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    };
    repairs.record(Repair::Converted, position.member("text"));
    block.insert("text".into(), Value::String(text));
}

/// Replaces `[]` where a schema needs an object, and removes null keywords. Returns false if the value is not a schema
/// object.
fn repair_schema(
    value: &mut Value,
    position: Position<'_>,
    repairs: &Repairs,
    depth: usize,
) -> bool {
    let Some(schema) = as_object(value, position, repairs) else {
        return false;
    };
    if depth == MAX_SCHEMA_DEPTH {
        return true;
    }
    for keyword in SCHEMA_MAPS {
        let Some(map) = schema.get_mut(keyword) else {
            continue;
        };
        let position = position.member(keyword);
        if map.is_null() {
            schema.shift_remove(keyword);
            repairs.record(Repair::Null, position);
            continue;
        }
        for (name, subschema) in as_object(map, position, repairs).into_iter().flatten() {
            if subschema.is_object()
                || subschema.as_array().is_some_and(Vec::is_empty) && keyword != "dependencies"
            {
                repair_schema(subschema, position.member(name), repairs, depth + 1);
            }
        }
    }
    // A list without elements, as Go writes it.
    if schema.get("required").is_some_and(Value::is_null) {
        schema.shift_remove("required");
        repairs.record(Repair::Null, position.member("required"));
    }
    for keyword in SUBSCHEMAS {
        let Some(value) = schema.get_mut(keyword) else {
            continue;
        };
        let position = position.member(keyword);
        match value {
            Value::Null => {
                schema.shift_remove(keyword);
                repairs.record(Repair::Null, position);
            }
            Value::Object(_) => {
                repair_schema(value, position, repairs, depth + 1);
            }
            Value::Array(subschemas)
                if subschemas.is_empty() && !SCHEMA_LISTS.contains(&keyword) =>
            {
                repair_schema(value, position, repairs, depth + 1);
            }
            Value::Array(subschemas) => {
                for (index, subschema) in subschemas.iter_mut().enumerate() {
                    if subschema.is_object() {
                        repair_schema(subschema, position.element(index, ""), repairs, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }
    true
}

/// True if the value has the type, after a conversion if necessary.
fn is_or_becomes(
    value: &mut Value,
    fits: impl Fn(&Value) -> bool,
    convert: impl Fn(&Value) -> Option<Value>,
    position: Position<'_>,
    repairs: &Repairs,
) -> bool {
    if fits(value) {
        return true;
    }
    let Some(converted) = convert(value) else {
        return false;
    };
    repairs.record(Repair::Converted, position);
    *value = converted;
    true
}

fn to_string(value: &Value) -> Option<Value> {
    matches!(value, Value::Number(_) | Value::Bool(_)).then(|| value.to_string().into())
}

fn to_boolean(value: &Value) -> Option<Value> {
    if let Some(number) = value.as_f64() {
        let is_flag = [0.0, 1.0].contains(&number);
        return is_flag.then(|| (number > 0.0).into());
    }
    match value.as_str()?.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Some(true.into()),
        "false" | "f" | "no" | "n" | "off" | "0" => Some(false.into()),
        _ => None,
    }
}

fn to_number(value: &Value) -> Option<Value> {
    let text = value.as_str()?.trim();
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    Number::from_f64(text.parse().ok()?).map(Value::Number)
}

fn to_unsigned(value: &Value) -> Option<Value> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    let unsigned = number as u64;
    Some(unsigned.into())
}

/// The name that the text means: in another letter case, or abbreviated to at least three letters such as `warn`.
fn closest_name(text: &str, names: &[&str]) -> Option<Value> {
    let text = text.trim().to_ascii_lowercase();
    let same = names.iter().find(|name| **name == text);
    let longer = || {
        let is_prefix = |name: &&&str| text.len() >= 3 && name.starts_with(&text);
        names.iter().find(is_prefix)
    };
    same.or_else(longer).map(|name| Value::from(*name))
}
