//! Random JSON, with names and numbers that often cause bugs.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Number, Value, json};

const NAMES: &[&str] = &[
    "a",
    "",
    "__proto__",
    "constructor",
    "toString",
    "toJSON",
    "then",
    "length",
    "0",
    "-1",
    "4294967295",
    "\u{2028}",
    "\0",
    "a.b",
    "$ref",
    "type",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![3 => select(NAMES).prop_map(str::to_owned), 1 => any::<String>()]
}

/// Numbers that a double represents exactly.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-(1_i64 << 53)..=1 << 53).prop_map(|n| json!(n)),
        any::<f64>()
            .prop_filter_map("it is no JSON", Number::from_f64)
            .prop_map(Value::Number),
        select(vec![0.0, -0.0, 5e-324, f64::MAX, f64::MIN, 0.1]).prop_map(|n| json!(n)),
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number(),
        name().prop_map(Value::String),
        any::<String>().prop_map(Value::String),
    ]
}

/// Values that survive a program unchanged.
pub(super) fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(8, 60, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            object(inner),
        ]
    })
}

pub(super) fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    vec((name(), inner), 0..6).prop_map(|members| Value::Object(Map::from_iter(members)))
}

/// Values that a program cannot produce, such as 64-bit integers, or deeply nested ones.
pub(super) fn strange() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => value(),
        1 => any::<u64>().prop_map(|n| json!(n)),
        1 => any::<i64>().prop_map(|n| json!(n)),
        1 => (0..400_usize).prop_map(nested),
    ]
}

/// Nested empty arrays.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!([]), |inner, _| json!([inner]))
}

/// Whether two values are equal in JavaScript, where `1` and `1.0` are the same number.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            let member = |(name, value)| other.get(name).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(member)
        }
        _ => one == other,
    }
}
