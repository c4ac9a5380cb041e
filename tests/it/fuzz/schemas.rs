//! Schemas of servers, which may be any JSON.

use mux_chance::{holds, json};
use mux_typegen::{ServerDecl, ToolDecl, declarations, signature, tool_declaration};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::Value;

/// The documented 64 KiB of types, and room for a description and the frame.
const MOST: usize = 64 * 1024 + 8 * 1024;

const KEYWORDS: &[&str] = &[
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
    "description",
    "title",
    "default",
    "nullable",
    "minItems",
    "format",
];

const WORDS: &[&str] = &[
    "object",
    "array",
    "string",
    "integer",
    "null",
    "#",
    "#/$defs/a",
    "#/items",
    "#/properties/a",
    "*/",
    "${",
    "`",
    "\n",
];

/// JSON that resembles a schema.
fn schema() -> impl Strategy<Value = Value> {
    let word = select(WORDS).prop_map(|word| Value::String(word.into()));
    let leaf = prop_oneof![2 => word, 1 => json::value()];
    leaf.prop_recursive(6, 80, 6, |inner| {
        let members = vec((select(KEYWORDS), inner.clone()), 0..6).prop_map(|members| {
            let members = members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value));
            Value::Object(members.collect())
        });
        prop_oneof![
            4 => members,
            1 => json::object(inner.clone()),
            1 => vec(inner, 0..4).prop_map(Value::Array),
        ]
    })
}

#[test]
fn fuzz_any_schema_gives_declarations_of_bounded_size() {
    let values = (schema(), schema(), any::<String>());
    holds("schemas", 200, values, |(input, output, words)| {
        let tool = || ToolDecl {
            name: &words,
            title: Some(&words),
            description: Some(&words),
            input_schema: (&input).into(),
            output_schema: Some((&output).into()),
            observed: None,
        };
        let server = || ServerDecl {
            name: "s",
            tools: vec![tool()],
            note: Some(&words),
        };
        prop_assert_eq!(declarations(&[server()]), declarations(&[server()]));
        prop_assert!(tool_declaration("s", &tool()).len() < MOST + 4 * words.len());
        let line = signature("s", &tool());
        prop_assert!(!line.contains('\n'), "not a line for a listing: {}", line);
        Ok(())
    });
}
