//! Random JSON, with names and numbers that often cause bugs, and changes of JSON that is given.
//!
//! Invariant: a change keeps a value finite and its depth within that of JSON parsers, unless it nests on purpose.

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
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
pub fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(8, 60, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            object(inner),
        ]
    })
}

pub fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    vec((name(), inner), 0..6).prop_map(|members| Value::Object(Map::from_iter(members)))
}

/// Values that a program cannot produce, such as 64-bit integers, or deeply nested ones.
pub fn strange() -> impl Strategy<Value = Value> {
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

/// A change of one place in a value.
#[derive(Clone, Debug)]
pub struct Change {
    place: Index,
    kind: ChangeKind,
}

#[derive(Clone, Debug)]
enum ChangeKind {
    Replace(Value),
    Remove,
    /// The value of another place.
    Copy(Index),
    /// The values of two places change places.
    Swap(Index),
    /// The member gets another name.
    Rename(String),
    /// A member or an element is added.
    Add(String, Value),
    /// The value in a list.
    Wrap,
}

/// Changes that put `words` where a name or a string belongs, besides random ones.
pub fn change(words: &'static [&'static str]) -> impl Strategy<Value = Change> {
    let word = move || prop_oneof![4 => select(words).prop_map(str::to_owned), 1 => name()];
    let replacement = move || {
        prop_oneof![
            4 => word().prop_map(Value::String),
            3 => strange(),
            1 => select(words).prop_map(|word| json!({ word: word })),
        ]
    };
    let kind = prop_oneof![
        4 => replacement().prop_map(ChangeKind::Replace),
        2 => Just(ChangeKind::Remove),
        3 => any::<Index>().prop_map(ChangeKind::Copy),
        1 => any::<Index>().prop_map(ChangeKind::Swap),
        3 => word().prop_map(ChangeKind::Rename),
        3 => (word(), replacement()).prop_map(|(name, value)| ChangeKind::Add(name, value)),
        1 => Just(ChangeKind::Wrap),
    ];
    (any::<Index>(), kind).prop_map(|(place, kind)| Change { place, kind })
}

impl Change {
    pub fn apply(&self, value: &mut Value) {
        let places = paths(value);
        let path = &places[self.place.index(places.len())];
        let of_index = |index: &Index| &places[index.index(places.len())];
        match &self.kind {
            ChangeKind::Replace(new) => *at(value, path) = new.clone(),
            ChangeKind::Copy(from) => {
                let copy = at(value, of_index(from)).clone();
                *at(value, path) = copy;
            }
            ChangeKind::Swap(other) => {
                let one = at(value, path).clone();
                let two = std::mem::replace(at(value, of_index(other)), one);
                // The path may have been inside of the other, and no longer exist.
                if let Some(place) = find(value, path) {
                    *place = two;
                }
            }
            ChangeKind::Wrap => {
                let place = at(value, path);
                *place = json!([place.take()]);
            }
            ChangeKind::Add(name, new) => match at(value, path) {
                Value::Object(members) => drop(members.insert(name.clone(), new.clone())),
                Value::Array(items) => items.push(new.clone()),
                scalar => *scalar = new.clone(),
            },
            ChangeKind::Remove => {
                let Some((last, parent)) = path.split_last() else {
                    return;
                };
                match at(value, parent) {
                    Value::Object(members) => {
                        drop(members.shift_remove_entry(&key(members, *last)));
                    }
                    Value::Array(items) => drop(items.remove(*last)),
                    _ => {}
                }
            }
            ChangeKind::Rename(name) => {
                let Some((last, parent)) = path.split_last() else {
                    return;
                };
                if let Value::Object(members) = at(value, parent) {
                    let old = key(members, *last);
                    if let Some(member) = members.shift_remove(&old) {
                        members.insert(name.clone(), member);
                    }
                }
            }
        }
    }
}

/// The value after each change in turn.
pub fn changed(mut value: Value, changes: &[Change]) -> Value {
    for change in changes {
        change.apply(&mut value);
    }
    value
}

/// Every place in a value: the number of the member or element at each level.
fn paths(value: &Value) -> Vec<Vec<usize>> {
    fn walk(value: &Value, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
        found.push(path.clone());
        let inner: Vec<&Value> = match value {
            Value::Object(members) => members.values().collect(),
            Value::Array(items) => items.iter().collect(),
            _ => Vec::new(),
        };
        for (index, value) in inner.into_iter().enumerate() {
            path.push(index);
            walk(value, path, found);
            path.pop();
        }
    }
    let mut found = Vec::new();
    walk(value, &mut Vec::new(), &mut found);
    found
}

fn find<'a>(value: &'a mut Value, path: &[usize]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, index| match value {
        Value::Object(members) => members.values_mut().nth(*index),
        Value::Array(items) => items.get_mut(*index),
        _ => None,
    })
}

fn at<'a>(value: &'a mut Value, path: &[usize]) -> &'a mut Value {
    find(value, path).expect("the place is in the value")
}

fn key(members: &Map<String, Value>, index: usize) -> String {
    let name = members.keys().nth(index);
    name.cloned().unwrap_or_default()
}

/// Returns true if two values are equal in JavaScript, where `1` and `1.0` are the same number.
pub fn same(one: &Value, other: &Value) -> bool {
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
