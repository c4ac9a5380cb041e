//! Comparison of a response with a documented example. Fields that the example does not have must be in another
//! example: a type that several responses share is shown with all fields only once.

use std::collections::BTreeSet;

use serde_json::Value;

/// Fields with content of a tool, of a user or of MCP, whose shape is not documented.
const FREE: &[&str] = &[
    "value",
    "result",
    "details",
    "offer",
    "input_schema",
    "output_schema",
    "definition",
    "arguments",
    "reasons",
    "completion",
];

/// Objects with entries by name, such as metrics by server. Each has the shape of an entry of the example.
const MAPS: &[&str] = &["calls", "ended", "servers", "sessions", "tools"];

/// The names of all fields in some values.
pub(super) fn names<'a>(values: impl Iterator<Item = &'a Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for value in values {
        match value {
            Value::Object(fields) => {
                found.extend(fields.keys().cloned());
                found.extend(names(fields.values()));
            }
            Value::Array(items) => found.extend(names(items.iter())),
            _ => {}
        }
    }
    found
}

/// Fails with the path of a field that is in no example, or has another type in this one.
pub(super) fn misfit(
    documented: &Value,
    answer: &Value,
    elsewhere: &BTreeSet<String>,
) -> Result<(), String> {
    match (documented, answer) {
        (Value::Object(known), Value::Object(fields)) => {
            for (name, value) in fields {
                match known.get(name) {
                    _ if FREE.contains(&name.as_str()) => {}
                    Some(Value::Object(known))
                        if MAPS.contains(&name.as_str()) && value.is_object() =>
                    {
                        let entries = value.as_object().into_iter().flatten();
                        let fits = |entry: &Value| {
                            let mut known = known.values();
                            known.any(|known| misfit(known, entry, elsewhere).is_ok())
                        };
                        for (key, entry) in entries {
                            if !fits(entry) {
                                return Err(format!(".{name}.{key}: {entry}"));
                            }
                        }
                    }
                    Some(documented) => misfit(documented, value, elsewhere)
                        .map_err(|place| format!(".{name}{place}"))?,
                    None if elsewhere.contains(name) => {}
                    None => return Err(format!(".{name}")),
                }
            }
            Ok(())
        }
        (Value::Array(known), Value::Array(items)) => {
            for item in items {
                // The examples of an enum show each variant once.
                let fits = known
                    .iter()
                    .any(|form| misfit(form, item, elsewhere).is_ok());
                if !fits && !known.is_empty() {
                    return Err(format!("[{item}]"));
                }
            }
            Ok(())
        }
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_)) => Ok(()),
        _ => Err(format!(": {answer}")),
    }
}

#[test]
fn undocumented_field_is_reported() {
    let documented = serde_json::json!({ "a": [{ "x": { "n": 1 } }, { "y": "t" }], "b": true });
    let elsewhere = names([&documented].into_iter());
    let fits = |text: &str| {
        misfit(
            &documented,
            &serde_json::from_str(text).unwrap(),
            &elsewhere,
        )
    };
    assert_eq!(
        fits(r#"{"a": [{ "y": "u" }, { "x": {} }], "n": 1}"#),
        Ok(())
    );
    assert_eq!(fits(r#"{"c": 1}"#), Err(".c".into()));
    assert_eq!(fits(r#"{"b": 1}"#), Err(".b: 1".into()));
    assert!(fits(r#"{"a": [{ "z": 1 }]}"#).is_err());
    let documented = serde_json::json!({ "tools": { "add": { "ok": 1 } } });
    let none = BTreeSet::new();
    for (tool, is_fit) in [(r#"{ "ok": 2 }"#, true), (r#"{ "no": 2 }"#, false)] {
        let answer = format!(r#"{{"tools": {{ "other": {tool} }} }}"#);
        let answer = serde_json::from_str(&answer).unwrap();
        assert_eq!(misfit(&documented, &answer, &none).is_ok(), is_fit);
    }
}
