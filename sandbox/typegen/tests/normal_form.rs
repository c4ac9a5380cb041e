//! The normal form of a schema, and the notes about schemas that deviate from the standard.

use mux_typegen::normal_form::{JsonTypes, SchemaView, normalize};
use serde_json::{Map, Value, json};

#[track_caller]
fn reads(schema: &Value, expected: &Value, notes: &[&str]) {
    let normal = normalize(schema);
    assert_eq!(&normal.schema, expected, "{schema}");
    let noted: Vec<String> = normal.notes.iter().map(ToString::to_string).collect();
    assert_eq!(noted, notes, "{schema}");
    let again = normalize(expected);
    assert_eq!(
        &again.schema, expected,
        "a normal form is its own normal form"
    );
}

#[test]
fn dialects_have_one_form() {
    reads(
        &json!({ "type": "string", "nullable": true, "enum": ["a"] }),
        &json!({ "type": ["string", "null"], "enum": ["a", null] }),
        &[],
    );
    reads(
        &json!({ "description": "d", "nullable": true, "allOf": [{ "type": "string" }] }),
        &json!({ "description": "d", "anyOf": [{ "allOf": [{ "type": "string" }] }, { "type": "null" }] }),
        &[],
    );
    reads(
        &json!({ "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false }),
        &json!({ "exclusiveMinimum": 0, "maximum": 9 }),
        &[],
    );
    reads(
        &json!({ "items": [{ "type": "string" }], "additionalItems": false }),
        &json!({ "prefixItems": [{ "type": "string" }], "items": false }),
        &[],
    );
    reads(
        &json!({ "dependencies": { "a": ["b"], "c": { "required": ["d"] } } }),
        &json!({ "dependentRequired": { "a": ["b"] }, "dependentSchemas": { "c": { "required": ["d"] } } }),
        &[],
    );
    reads(
        &json!({ "properties": { "a": { "type": "string", "required": true } } }),
        &json!({ "properties": { "a": { "type": "string" } }, "required": ["a"] }),
        &[],
    );
    reads(
        &json!({ "$schema": "https://example.com/mine", "$id": "x", "type": "STRING", "pattern": "\\Aa\\Z" }),
        &json!({ "type": "string", "pattern": "^a$" }),
        &[],
    );
    reads(
        &json!({ "url": 1, "items": null, "enum": null, "anyOf": [], "not": null, "required": [] }),
        &json!({ "url": 1, "required": [] }),
        &[],
    );
}

#[test]
fn references_lead_to_definitions() {
    let pet = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/Pet" } } });
    for (container, reference) in [
        ("$defs", "#/$defs/Pet"),
        ("definitions", "#/definitions/Pet"),
        ("definitions", "#/$defs/Pet"),
    ] {
        let own = json!({ "type": "object", "properties": { "next": { "$ref": reference } } });
        reads(
            &json!({ container: { "Pet": own, "unused": {} }, "$ref": reference }),
            &json!({ "$ref": "#/$defs/Pet", "$defs": { "Pet": pet } }),
            &[],
        );
    }
    reads(
        &json!({ "properties": { "a": { "type": "string" }, "b": { "$ref": "#/properties/a" } } }),
        &json!({ "properties": { "a": { "type": "string" }, "b": { "$ref": "#/$defs/a" } },
            "$defs": { "a": { "type": "string" } } }),
        &[],
    );
    reads(
        &json!({ "items": { "$ref": "#named" }, "$defs": { "x": { "$anchor": "named", "type": "null" } } }),
        &json!({ "items": { "$ref": "#/$defs/x" }, "$defs": { "x": { "type": "null" } } }),
        &[],
    );
    // Up to draft 7, a reference replaces its siblings.
    reads(
        &json!({ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": { "a": {} },
            "items": { "$ref": "#/definitions/a", "type": "string", "title": "t" } }),
        &json!({ "items": { "$ref": "#/$defs/a", "title": "t" }, "$defs": { "a": {} } }),
        &[],
    );
}

#[test]
fn parts_that_cannot_be_read_are_noted() {
    for (schema, expected, note) in [
        (
            json!("text"),
            json!(true),
            "this is not a schema; every value is allowed",
        ),
        (
            json!({ "type": "float" }),
            json!({ "type": "number" }),
            "type `float` is read as `number`",
        ),
        (
            json!({ "type": "date" }),
            json!({}),
            "there is no type `date`; it is ignored",
        ),
        (
            json!({ "type": "string", "minLength": "many" }),
            json!({ "type": "string" }),
            "`minLength` cannot be read and is ignored",
        ),
        (
            json!({ "type": "string", "enum": [1, 2] }),
            json!({ "enum": [1, "1", 2, "2"] }),
            "the listed values are not of the declared type; both forms are accepted",
        ),
        (
            json!({ "properties": { "a": "string" } }),
            json!({ "properties": { "a": { "type": "string" } } }),
            "properties.a: a type name in place of a schema",
        ),
    ] {
        reads(&schema, &expected, &[note]);
    }
    for (reference, note) in [
        ("#/nowhere", "`#/nowhere` refers to nothing and is ignored"),
        ("#none", "`#none` refers to nothing and is ignored"),
        (
            "other.json#/a",
            "`other.json#/a` refers to another document, which is not fetched",
        ),
        ("#", "`#` has no fixed target and is ignored"),
    ] {
        let normal = normalize(&json!({ "title": "t", "$ref": reference }));
        assert_eq!(normal.notes[0].to_string(), note);
        assert_eq!(normal.schema["$ref"], Value::Null);
    }
}

#[test]
fn a_lost_part_forbids_nothing() {
    let lost = json!({ "$ref": "#/nowhere" });
    let one_of = normalize(&json!({ "oneOf": [lost, { "type": "string" }] })).schema;
    assert!(
        one_of.get("oneOf").is_none() && one_of.get("anyOf").is_some(),
        "{one_of}"
    );
    let through = json!({ "oneOf": [{ "$ref": "#/$defs/a" }, {}], "$defs": { "a": lost } });
    assert!(normalize(&through).schema.get("oneOf").is_none());
    for keyword in ["not", "if"] {
        let schema = json!({ keyword: { "items": lost }, "then": false, "type": "array" });
        assert_eq!(normalize(&schema).schema.get(keyword), None, "{keyword}");
    }
    let closed = json!({ "allOf": [lost], "unevaluatedProperties": false });
    assert_eq!(normalize(&closed).schema.get("unevaluatedProperties"), None);
}

#[test]
fn lost_list_of_members_opens_the_object() {
    for schema in [
        json!({ "properties": [{ "name": "a" }], "additionalProperties": false }),
        json!({ "prefixItems": "x", "items": false }),
        json!({ "not": { "enum": [] } }),
    ] {
        let normal = normalize(&schema).schema;
        assert_eq!(normal, json!({}), "{schema}");
    }
    let marked = json!({ "x-mux-lost": true, "x-mux-unresolved": "x", "oneOf": [{}, {}] });
    assert_eq!(normalize(&marked).schema, json!({ "oneOf": [{}, {}] }));
}

#[test]
fn many_closed_parts_with_many_members_are_limited() {
    let properties: Map<String, Value> = (0..2_000).map(|n| (format!("p{n}"), json!({}))).collect();
    let parts = vec![json!({ "$ref": "#/$defs/X" }); 64];
    let all: Map<String, Value> = (0..200)
        .map(|n| (format!("o{n}"), json!({ "allOf": parts })))
        .collect();
    let schema = json!({ "properties": all,
        "$defs": { "X": { "properties": properties, "additionalProperties": false } } });
    assert_eq!(normalize(&schema).notes, []);
}

#[test]
fn closed_parts_close_the_whole_object() {
    let part = json!({ "type": "object", "properties": { "a": {} } });
    reads(
        &json!({ "allOf": [part], "additionalProperties": { "type": "string" } }),
        &json!({ "allOf": [part], "unevaluatedProperties": { "type": "string" } }),
        &[],
    );
    let base = json!({ "properties": { "a": {} }, "additionalProperties": false });
    let referenced = normalize(&json!({ "properties": { "b": {} },
        "allOf": [{ "$ref": "#/$defs/Base" }], "$defs": { "Base": base } }));
    assert_eq!(
        referenced.schema["allOf"],
        json!([{ "properties": { "a": {} } }])
    );
    assert_eq!(referenced.schema["unevaluatedProperties"], false);
    // So does a part that types the members besides its own.
    let parts = |typed: Value| json!({ "allOf": [part, { "type": "object" }, typed] });
    let typed = |kind: &str| json!({ "additionalProperties": { "type": kind } });
    let mut expected = parts(json!({}));
    expected["unevaluatedProperties"] = json!({ "type": "string" });
    reads(&parts(typed("string")), &expected, &[]);
    let several =
        json!({ "allOf": [part, typed("string"), { "additionalProperties": { "minLength": 1 } }] });
    assert_eq!(
        normalize(&several).schema["unevaluatedProperties"],
        json!({ "allOf": [{ "type": "string" }, { "minLength": 1 }] })
    );
    // A part that is the whole object stays closed.
    let alone = json!({ "allOf": [{ "properties": { "a": {} }, "additionalProperties": false }] });
    reads(&alone, &alone, &[]);
}

#[test]
fn types_of_a_member_are_found_through_all_keywords() {
    let view = SchemaView::new(&json!({
        "properties": {
            "optional": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "referenced": { "$ref": "#/$defs/Id" },
            "combined": { "allOf": [{ "type": ["string", "number"] }, { "type": "string" }] },
            "listed": { "enum": [1, "a"] },
            "many": { "items": { "type": "string" } },
            "free": {},
        },
        "if": { "required": ["free"] },
        "then": { "properties": { "late": { "type": "integer" } } },
        "additionalProperties": { "type": "boolean" },
        "$defs": { "Id": { "type": "integer" } },
    }));
    let names = |name: &str| view.types(&view.member(name)).names();
    assert_eq!(names("optional"), ["null", "string"]);
    assert_eq!(names("referenced"), ["integer"]);
    assert_eq!(names("combined"), ["string"]);
    assert_eq!(names("listed"), ["integer", "string"]);
    assert!(view.describes_list(&view.member("many")));
    assert_eq!(names("late"), ["integer"]);
    assert_eq!(names("other"), ["boolean"]);
    assert_eq!(view.types(&view.member("free")), JsonTypes::ALL);
    let flat = view.flattened(view.member("optional")[0]);
    assert_eq!(Value::Object(flat), json!({ "type": "string" }));
}
