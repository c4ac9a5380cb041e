//! The tests' schemas with changed values: their compiled form never refuses a value that the schema allows.

use jsonschema::draft202012;
use mux_chance::{
    broken, holds,
    json::{self, Change, change, changed},
};
use mux_typegen::normal_form::normalize;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::Value;

use crate::{CompiledSchema, MAX_CHECK_STEPS, MistakeWording, SchemaVerdict, can_be_checked};

/// Files that contain tool schemas at any depth.
const FILES: &[&str] = &[
    include_str!("../../../../tests/data/types/unions.json"),
    include_str!("../../../../tests/data/types/references.json"),
    include_str!("../../../../tests/data/types/limits.json"),
    include_str!("../../../../tests/data/types/objects.json"),
    include_str!("../../../../tests/data/types/arrays.json"),
    include_str!("../../../../tests/data/types/intersections.json"),
    include_str!("../../../../tests/data/check/servers/github.json"),
    include_str!("../../../../tests/data/check/servers/db.json"),
];
const WORDS: &[&str] = &[
    "type",
    "properties",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "enum",
    "const",
    "required",
    "additionalProperties",
    "patternProperties",
    "prefixItems",
    "$ref",
    "$defs",
    "definitions",
    "nullable",
    "minItems",
    "maxLength",
    "minimum",
    "exclusiveMinimum",
    "pattern",
    "format",
    "if",
    "then",
    "else",
    "dependentRequired",
    "contains",
    "uniqueItems",
    "$anchor",
    "propertyNames",
    "unevaluatedProperties",
    "object",
    "array",
    "string",
    "integer",
    "number",
    "null",
    "boolean",
    "#",
    "#/$defs/a",
    "#/properties/a",
    "#/items",
    "#/nowhere",
    "other.json",
    "(",
    "^a",
    "(a+)+$",
    "a",
    "b",
    "true",
    "uri",
    "x-y",
];

/// The schemas in a value: those of tools.
fn schemas(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if matches!(name.as_str(), "inputSchema" | "outputSchema" | "schema") {
                    found.push(value.clone());
                } else {
                    schemas(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| schemas(item, found)),
        _ => {}
    }
}

/// The parts of a schema: values that it is likely to mention.
fn parts(schema: &Value, found: &mut Vec<Value>) {
    found.push(schema.clone());
    match schema {
        Value::Object(members) => members.values().for_each(|value| parts(value, found)),
        Value::Array(items) => items.iter().for_each(|value| parts(value, found)),
        _ => {}
    }
}

/// Objects with the properties that a schema names.
fn object_of(schema: &Value, values: &[Value]) -> Value {
    let names = schema["properties"].as_object().into_iter().flatten();
    let members = names.zip(values.iter().cycle());
    Value::Object(
        members
            .map(|((name, _), value)| (name.clone(), value.clone()))
            .collect(),
    )
}

#[test]
fn fuzz_compiled_schema_allows_what_the_schema_allows() {
    let mut known = Vec::new();
    for text in FILES {
        schemas(&serde_json::from_str(text).unwrap(), &mut known);
    }
    assert!(known.len() > 20, "{} schemas", known.len());
    let values = (
        select(known),
        vec(change(WORDS), 0..4),
        vec(json::value(), 1..6),
    );
    holds(
        "validation",
        150,
        values,
        |(schema, changes, mut values): (_, Vec<Change>, Vec<Value>)| {
            let schema = changed(schema, &changes);
            let normal = normalize(&schema).schema;
            prop_assert!(!normal.is_null());
            let Ok(compiled) = CompiledSchema::compile(&schema) else {
                return Ok(());
            };
            prop_assert!(can_be_checked(&schema));
            values.push(object_of(&schema, &values));
            parts(&schema, &mut values);
            values.truncate(40);
            // Older drafts and OpenAPI's dialect read some keywords in another way.
            let strict = draft202012::new(&schema).ok();
            for value in &values {
                let verdict = compiled.check_within(value, MistakeWording::Author, MAX_CHECK_STEPS);
                if let Some(SchemaVerdict::Fails(mistakes)) = verdict {
                    prop_assert!(!mistakes.is_empty());
                    let is_allowed = strict.as_ref().is_some_and(|strict| strict.is_valid(value));
                    if is_allowed {
                        return Err(broken(format!(
                            "{value} is refused: {mistakes:?} by {normal}"
                        )));
                    }
                }
            }
            Ok(())
        },
    );
}
