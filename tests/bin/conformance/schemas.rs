//! JSON Schemas of arguments and of forms.

use serde_json::{Map, Value, json};

/// An object with these fields, all of them texts and all of them required.
pub(crate) fn strings(names: &[&str]) -> Value {
    fields(names, "string")
}

pub(crate) fn numbers(names: &[&str]) -> Value {
    fields(names, "number")
}

pub(crate) fn boolean(name: &str) -> Value {
    fields(&[name], "boolean")
}

fn fields(names: &[&str], kind: &str) -> Value {
    let field = |name: &&str| ((*name).to_owned(), json!({ "type": kind }));
    let properties: Map<String, Value> = names.iter().map(field).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

/// Keywords that only JSON Schema 2020-12 has, or that are often lost on the way.
pub(crate) fn person() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": {
            "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"]
        },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    })
}

/// A form with a default for each kind of field.
pub(crate) fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string", "enum": ["active", "inactive", "pending"], "default": "active"
            },
            "verified": { "type": "boolean", "default": true }
        }
    })
}

/// A form with each kind of choice.
pub(crate) fn choices() -> Value {
    let titled = json!([
        { "const": "value1", "title": "First" },
        { "const": "value2", "title": "Second" },
        { "const": "value3", "title": "Third" }
    ]);
    let plain = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": plain },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["One", "Two", "Three"]
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } }
        }
    })
}
