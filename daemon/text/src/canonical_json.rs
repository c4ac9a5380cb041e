//! Canonical JSON: sorted member names, and one representation per number.
//!
//! Invariant: two values have the same canonical form if and only if they are equal, ignoring the order
//! of members.

use std::borrow::Cow;

use serde_json::{Number, Value};

use crate::{digest::DigestKey, sanitize::push_visible};

/// The hash of a value's canonical form.
pub fn digest(value: &Value) -> DigestKey {
    digest_of_text(&to_text(value))
}

/// The hash of a value whose canonical form is `text`.
pub fn digest_of_text(text: &str) -> DigestKey {
    blake3::hash(text.as_bytes()).into()
}

/// The canonical form of a value.
pub fn to_text(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// The canonical form of an object with these members.
pub fn members_to_text<'a>(members: impl IntoIterator<Item = (&'a str, Cow<'a, Value>)>) -> String {
    let mut text = String::new();
    let members = members.into_iter().collect::<Vec<_>>();
    let members = members.iter().map(|(name, member)| (*name, &**member));
    write_object(members.collect(), &mut text);
    text
}

/// Formats canonical JSON on many lines for display. Invisible characters are escaped as in JSON.
pub fn to_readable(text: &str) -> String {
    let ordered: Value = serde_json::from_str(text).unwrap_or_default();
    let lines = serde_json::to_string_pretty(&ordered).unwrap_or_default();
    let mut shown = String::with_capacity(lines.len());
    push_visible(&mut shown, &lines);
    shown
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => text.push_str(&spell_number(number)),
        Value::String(string) => write_string(string, text),
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, member)| (name.as_str(), member));
            write_object(members.collect(), text);
        }
    }
}

fn write_object(mut members: Vec<(&str, &Value)>, text: &mut String) {
    members.sort_unstable_by(|a, b| a.0.cmp(b.0));
    text.push('{');
    for (place, (name, member)) in members.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        write_string(name, text);
        text.push(':');
        write(member, text);
    }
    text.push('}');
}

fn write_string(string: &str, text: &mut String) {
    text.push_str(&Value::from(string).to_string());
}

/// The canonical form of a number: `1`, `1.0` and `1e0` are the same.
fn spell_number(number: &Number) -> String {
    /// Up to this every integer is exact.
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float)
            if number.is_f64() && float.fract() == 0.0 && float.abs() < MAX_EXACT_INTEGER =>
        {
            // Minus zero becomes zero.
            #[expect(clippy::cast_possible_truncation, reason = "integral and in range")]
            let integer = float as i64;
            integer.to_string()
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn digest_ignores_order_and_spelling_only() {
        let one = parsed(r#"{"b":[1,{"y":1.0,"x":"\u0041"}],"a":-0.0}"#);
        for same in [
            r#"{"a":0,"b":[1.0,{"x":"A","y":1}]}"#,
            r#"{ "a" : 0e0, "b" : [ 1e0, { "x" : "A", "y" : 1 } ] }"#,
        ] {
            assert_eq!(digest(&one), digest(&parsed(same)), "{same}");
        }
        for other in [
            r#"{"a":0,"b":[{"x":"A","y":1},1]}"#,
            r#"{"a":0,"b":[1,{"x":"a","y":1}]}"#,
            r#"{"a":0,"b":[1,{"x":"A","y":"1"}]}"#,
            r#"{"a":0,"b":[1,{"x":"A","y":1.5}]}"#,
            r#"{"a":0,"b":[1,{"x":"A","y":1}],"c":null}"#,
            r#"{"a":"0","b":[1,{"x":"A\u200b","y":1}]}"#,
        ] {
            assert_ne!(digest(&one), digest(&parsed(other)), "{other}");
        }
        let large = json!(u64::MAX);
        let larger = json!(u64::MAX - 1);
        assert_ne!(digest(&large), digest(&larger));
    }

    #[test]
    fn readable_text_escapes_invisible_characters() {
        let value = json!({ "b": "x\u{200b}y\u{e0041}", "a": "é\u{1b}" });
        let shown = to_readable(&to_text(&value));
        let expected = "{\n  \"a\": \"é\\u001b\",\n  \"b\": \"x\\u200by\\udb40\\udc41\"\n}";
        assert_eq!(shown, expected);
        assert_eq!(parsed(&shown), value);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((".{0,3}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn reversed(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(reversed).collect(),
            Value::Object(members) => {
                let turned = members.iter().rev();
                Value::Object(turned.map(|(n, v)| (n.clone(), reversed(v))).collect())
            }
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn canonical_text_is_stable_and_order_independent(value in values()) {
            let text = to_text(&value);
            prop_assert_eq!(&text, &to_text(&reversed(&value)));
            prop_assert_eq!(&text, &to_text(&parsed(&text)));
        }
    }
}
