//! Random schemas and values of the kinds that servers use.
//!
//! Invariant: every schema is valid, because a validator is built for it.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

const NAMES: &[&str] = &[
    "a",
    "b",
    "c",
    "new",
    "x-y",
    "constructor",
    "toString",
    "__proto__",
    "*/",
    "x|*y",
    "\u{2028}x",
    "é\u{202e}",
];

/// Seeds for guessing values.
pub(crate) fn seeds() -> impl Strategy<Value = Vec<u64>> {
    vec(any::<u64>(), 12)
}

/// A whole schema, with definitions that it may refer to.
pub(crate) fn schema() -> impl Strategy<Value = Value> {
    (part(), part(), part()).prop_map(|(mut root, d, e)| {
        if let Value::Object(root) = &mut root {
            root.insert(
                "$defs".to_owned(),
                json!({"d": d, "e": {"type": "object", "properties": {"e": e}}}),
            );
        }
        root
    })
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..10).prop_map(Value::from),
        Just(json!(0.5)),
        select(&["a", "b", "*/", "\"", "\u{2028}", ""][..]).prop_map(Value::from),
    ]
}

fn part() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => select(&["string", "number", "integer", "boolean", "null", "object", "array"][..])
            .prop_map(|name| json!({ "type": name })),
        1 => subsequence(vec!["string", "number", "null", "object"], 2..4).prop_map(|names| json!({ "type": names })),
        1 => Just(json!({})),
        1 => Just(json!(true)),
        2 => value().prop_map(|value| json!({ "const": value })),
        1 => Just(json!(false)),
        2 => vec(prop_oneof![4 => scalar().boxed(), 1 => value().boxed()], 1..4).prop_map(|values| json!({ "enum": values })),
        1 => (0..3, 1..5).prop_map(|(least, most)| json!({"type": "integer", "minimum": least, "maximum": most})),
        1 => select(&["#/$defs/d", "#/$defs/e", "#"][..]).prop_map(|to| json!({ "$ref": to })),
        1 => select(&["date", "email", "uri"][..]).prop_map(|format| json!({"type": "string", "format": format})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            6 => object(inner.clone()),
            2 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => (vec(inner.clone(), 1..3), 0..3).prop_map(|(prefix, least)| {
                json!({"type": "array", "prefixItems": prefix, "minItems": least, "items": false})
            }),
            1 => (vec(inner.clone(), 1..3), inner.clone()).prop_map(|(prefix, rest)| {
                json!({"type": "array", "prefixItems": prefix, "items": rest})
            }),
            3 => (select(&["anyOf", "oneOf"][..]), vec(inner.clone(), 1..4))
                .prop_map(|(keyword, schemas)| json!({ keyword: schemas })),
            2 => vec(object(inner.clone()), 1..3).prop_map(|parts| json!({ "allOf": parts })),
            1 => vec(inner.clone(), 1..3).prop_map(|parts| json!({ "allOf": parts })),
            1 => object(inner.clone()).prop_map(|mut base| {
                base["type"] = json!(["object", "null", "string"]);
                base
            }),
            1 => (object(inner.clone()), select(&["#/$defs/d", "#/$defs/e"][..])).prop_map(|(mut base, to)| {
                base["$ref"] = json!(to);
                base
            }),
            1 => (object(inner.clone()), vec(inner.clone(), 1..3)).prop_map(|(mut base, others)| {
                base["anyOf"] = json!(others);
                base
            }),
            1 => (object(inner.clone()), inner).prop_map(|(mut base, value)| {
                base["not"] = value;
                base
            }),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Value> {
    let properties = btree_map(select(NAMES), inner.clone(), 0..4);
    let required = subsequence(NAMES, 0..3);
    let others = prop_oneof![
        4 => Just(None),
        1 => Just(Some(("additionalProperties", json!(false)))),
        1 => Just(Some(("additionalProperties", json!(true)))),
        1 => inner.clone().prop_map(|schema| Some(("additionalProperties", schema))),
        1 => inner.prop_map(|schema| Some(("patternProperties", json!({ "^o": schema })))),
    ];
    (properties, required, others).prop_map(|(properties, required, others)| {
        let mut object = json!({"type": "object", "properties": properties, "required": required});
        if let Some((keyword, schema)) = others {
            object[keyword] = schema;
        }
        object
    })
}

/// Results like those of tools.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let part = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let leaf = prop_oneof![8 => scalar(), 1 => Just(part)];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof![6 => select(NAMES).prop_map(str::to_owned), 1 => "[0-9]{1,3}"];
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::Array),
            btree_map(key, inner, 0..6).prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}
