//! Makes `type`, `nullable`, and the values of `enum` and `const` agree.

use serde_json::{Map, Number, Value};

use super::{
    keywords,
    losses::mark_lost,
    notes::{Deviation, Notes},
};

/// The types of JSON Schema.
pub(super) const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// A type by its name, or by the name that another language has for it.
pub(super) fn type_name(name: &str) -> Option<&'static str> {
    let lower = name.trim().to_lowercase();
    if let Some(known) = TYPES.iter().find(|known| **known == lower) {
        return Some(known);
    }
    Some(match lower.as_str() {
        "float" | "double" | "decimal" => "number",
        "int" | "int32" | "int64" | "long" => "integer",
        "bool" => "boolean",
        "str" | "text" => "string",
        "list" | "tuple" => "array",
        "dict" | "map" => "object",
        "none" | "nil" => "null",
        _ => return None,
    })
}

/// Reads `type`: a name, or a list of names.
pub(super) fn read_type(
    value: &Value,
    pointer: &str,
    normal: &mut Map<String, Value>,
    notes: &mut Notes,
) {
    let names: Vec<&Value> = match value {
        Value::Array(names) => names.iter().collect(),
        Value::Null => return,
        one => vec![one],
    };
    let mut types: Vec<&'static str> = Vec::new();
    for name in names {
        let Some(name) = name.as_str() else {
            // A list without one of its types would forbid the values of that type.
            return notes.lose(pointer, Deviation::ignored("type"), normal);
        };
        let Some(known) = type_name(name) else {
            // Draft 3 has it, and others write it.
            if name != "any" {
                let name = name.to_owned();
                notes.lose(pointer, Deviation::UnknownType { name }, normal);
            }
            return;
        };
        if known != name && !known.eq_ignore_ascii_case(name) {
            notes.add(
                pointer,
                Deviation::TypeAlias {
                    name: name.to_owned(),
                    read_as: known,
                },
            );
        }
        if !types.contains(&known) {
            types.push(known);
        }
    }
    write_types(&types, normal);
}

fn write_types(types: &[&str], normal: &mut Map<String, Value>) {
    let written = match types {
        [] => return,
        [only] => Value::from(*only),
        several => Value::from(several),
    };
    normal.insert("type".to_owned(), written);
}

/// The names under `type`. Empty if every type is allowed.
pub(super) fn declared_types(members: &Map<String, Value>) -> Vec<&str> {
    match members.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// Listed values that are not of the declared type are surely intended, and so is the type: generators write
/// `type: string, enum: [1, 2]` for `"1"` and `"2"`, and YAML reads `no` as `false`. Both forms are allowed.
pub(super) fn reconcile(normal: &mut Map<String, Value>, pointer: &str, notes: &mut Notes) {
    let types = declared_types(normal);
    if types.is_empty() {
        return;
    }
    let is_typed = |value: &Value| types.iter().any(|name| is_of_type(value, name));
    let constant = normal.get("const").filter(|value| !is_typed(value));
    let values = normal.get("enum").and_then(Value::as_array);
    let is_contradicted = values.is_some_and(|values| !values.iter().all(is_typed));
    if constant.is_none() && !is_contradicted {
        return;
    }
    let both = |value: &Value| -> Vec<Value> {
        let converted = types.iter().filter_map(|name| convert(value, name));
        let mut spellings = vec![value.clone()];
        if !is_typed(value) {
            spellings.extend(converted);
        }
        spellings
    };
    let constants = constant.map(both);
    let values = values
        .filter(|_| is_contradicted)
        .map(|values| values.iter().flat_map(both).collect::<Value>());
    let is_respelled = constants.as_ref().is_some_and(|both| both.len() > 1)
        || values.as_ref().and_then(Value::as_array).map(Vec::len)
            > normal.get("enum").and_then(Value::as_array).map(Vec::len);
    if is_respelled {
        notes.add(pointer, Deviation::EnumTypes);
    }
    mark_lost(normal);
    if let Some(constants) = constants {
        normal.shift_remove("const");
        normal.insert("enum".to_owned(), Value::Array(constants));
    }
    if let Some(values) = values.and_then(|values| keywords::to_values(&values)) {
        normal.insert("enum".to_owned(), values);
    }
    normal.shift_remove("type");
}

/// The value converted to the type.
fn convert(value: &Value, name: &str) -> Option<Value> {
    match (value, name) {
        (Value::Bool(_) | Value::Number(_), "string") => Some(Value::String(value.to_string())),
        (Value::String(text), "number" | "integer") => text
            .trim()
            .parse::<Number>()
            .ok()
            .map(Value::Number)
            .filter(|number| is_of_type(number, name)),
        (Value::String(text), "boolean") => keywords::to_boolean(&Value::String(text.clone())),
        _ => None,
    }
}

/// OpenAPI 3.0 says `nullable` beside any schema.
pub(super) fn make_nullable(members: &Map<String, Value>, mut normal: Map<String, Value>) -> Value {
    const COMBINED: [&str; 8] = [
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "const",
        "dependentSchemas",
    ];
    let is_nullable = ["nullable", "x-nullable"]
        .iter()
        .any(|keyword| members.get(*keyword).and_then(keywords::to_boolean) == Some(true.into()));
    if !is_nullable {
        return Value::Object(normal);
    }
    if !COMBINED.iter().any(|keyword| normal.contains_key(*keyword)) {
        let types = match normal.get_mut("type") {
            Some(Value::Array(types)) => Some(types),
            Some(only) => {
                *only = Value::Array(vec![only.take()]);
                only.as_array_mut()
            }
            None => None,
        };
        if let Some(types) = types.filter(|types| !types.contains(&"null".into())) {
            types.push("null".into());
        }
        if let Some(Value::Array(values)) = normal.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
        return Value::Object(normal);
    }
    let annotations: Vec<String> = normal
        .keys()
        .filter(|keyword| keywords::is_annotation(keyword))
        .cloned()
        .collect();
    let mut outer = Map::new();
    for keyword in annotations {
        if let Some(value) = normal.shift_remove(&keyword) {
            outer.insert(keyword, value);
        }
    }
    let or_null = serde_json::json!([normal, { "type": "null" }]);
    outer.insert("anyOf".to_owned(), or_null);
    Value::Object(outer)
}
