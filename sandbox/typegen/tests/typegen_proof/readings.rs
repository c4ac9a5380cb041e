//! The stricter reading of a schema by the generator, as JSON Schema.
//!
//! JSON Schema says less than authors of tools mean: `properties` applies to objects and accepts every other value,
//! members that are not listed are allowed, a tuple may be short. The generator reads a schema more strictly, because
//! the checker then finds misspelled members. Here the same readings are written as JSON Schema, from which a
//! validator can tell which values they exclude.
//!
//! Invariant: a schema as read accepts only values that the schema accepts, except for `oneOf`.

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// Keywords whose value is a schema, a list of schemas, a map of schemas.
const ONE: &[&str] = &[
    "items",
    "additionalProperties",
    "additionalItems",
    "unevaluatedProperties",
    "if",
    "then",
    "else",
];
const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const MAP: &[&str] = &[
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$defs",
    "definitions",
];
/// Keywords that say that a value is an object.
const OBJECT: &[&str] = &[
    "properties",
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
];

/// A validator, or `None` if the schema is invalid or refers to another document.
pub(crate) fn validator(schema: &Value, draft: Draft) -> Option<Validator> {
    jsonschema::options().with_draft(draft).build(schema).ok()
}

pub(crate) fn as_read(schema: &Value) -> Value {
    let Value::Object(written) = schema else {
        return schema.clone();
    };
    let mut read = written.clone();
    for (keyword, value) in &mut read {
        match value {
            Value::Object(schemas) if MAP.contains(&keyword.as_str()) => {
                for schema in schemas.values_mut() {
                    *schema = as_read(schema);
                }
            }
            Value::Array(schemas) if LIST.contains(&keyword.as_str()) => {
                for schema in schemas {
                    *schema = as_read(schema);
                }
            }
            schema if ONE.contains(&keyword.as_str()) => *schema = as_read(schema),
            _ => {}
        }
    }
    // If exactly one alternative matches as written, several or none may match as read.
    if let Some(alternatives) = read.remove("oneOf") {
        let all = json!({ "anyOf": alternatives });
        also(&mut read, all);
    }
    for meant in meanings(written) {
        also(&mut read, meant);
    }
    Value::Object(read)
}

fn also(schema: &mut Map<String, Value>, meant: Value) {
    let all = schema.entry("allOf").or_insert_with(|| json!([]));
    if let Value::Array(all) = all {
        all.push(meant);
    }
}

fn meanings(schema: &Map<String, Value>) -> Vec<Value> {
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
    let mut meant = Vec::new();
    if !has(&["type", "const", "enum"]) {
        if has(OBJECT) || !conditional_members(schema).is_empty() {
            meant.push(json!({"type": "object"}));
        } else if has(&["items", "prefixItems"]) {
            meant.push(json!({"type": "array"}));
        }
    }
    // A member that only some values have is of one of the types that it has there.
    for (name, schemas) in conditional_members(schema) {
        meant.push(json!({"properties": { name: { "anyOf": schemas } }}));
    }
    // A tuple has all its items, and no others unless the schema defines them.
    let (prefix, rest) = match (schema.get("prefixItems"), schema.get("items")) {
        (Some(prefix), rest) => (prefix.as_array(), rest),
        (None, Some(Value::Array(prefix))) => (Some(prefix), schema.get("additionalItems")),
        _ => (None, None),
    };
    if let Some(prefix) = prefix {
        if !has(&["minItems"]) {
            meant.push(json!({"minItems": prefix.len()}));
        }
        if rest.is_none() {
            meant.push(json!({"maxItems": prefix.len()}));
        }
    }
    // Members that no pattern matches are not allowed.
    if let Some(patterns) = schema.get("patternProperties").and_then(Value::as_object)
        && !has(&["additionalProperties"])
    {
        let listed = schema.get("properties").and_then(Value::as_object);
        let any = |schemas: &Map<String, Value>| -> Value {
            schemas
                .keys()
                .map(|name| (name.clone(), json!(true)))
                .collect()
        };
        meant.push(json!({
            "properties": listed.map(any).unwrap_or_else(|| json!({})),
            "patternProperties": any(patterns),
            "additionalProperties": false,
        }));
    }
    // An object whose members are all optional has at least one of them, or is empty.
    if let Some(properties) = schema.get("properties").and_then(Value::as_object)
        && !has(&["additionalProperties", "patternProperties"])
        && schema
            .get("required")
            .is_none_or(|names| names == &json!([]))
    {
        let mut some: Vec<Value> = properties
            .keys()
            .map(|name| json!({"required": [name]}))
            .collect();
        some.push(json!({"maxProperties": 0}));
        some.push(json!({"not": {"type": "object"}}));
        meant.push(json!({ "anyOf": some }));
    }
    meant
}

/// The members that only conditional schemas mention, with their schemas there.
fn conditional_members(schema: &Map<String, Value>) -> Vec<(String, Vec<Value>)> {
    let own = schema.get("properties").and_then(Value::as_object);
    let branches = ["then", "else"].map(|keyword| schema.get(keyword));
    let branches = branches
        .into_iter()
        .flatten()
        .filter(|_| schema.contains_key("if"));
    let dependent = ["dependentSchemas", "dependencies"].map(|keyword| schema.get(keyword));
    let dependent = dependent.into_iter().flatten().filter_map(Value::as_object);
    let dependent = dependent.flat_map(|schemas| schemas.values());
    let mut members: Vec<(String, Vec<Value>)> = Vec::new();
    for branch in branches.chain(dependent) {
        let named = branch.get("properties").and_then(Value::as_object);
        for (name, schema) in named.into_iter().flatten() {
            if own.is_some_and(|own| own.contains_key(name)) {
                continue;
            }
            match members.iter_mut().find(|(known, _)| known == name) {
                Some((_, schemas)) => schemas.push(as_read(schema)),
                None => members.push((name.clone(), vec![as_read(schema)])),
            }
        }
    }
    members
}
