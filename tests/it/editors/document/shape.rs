//! Whether an answer has the shape of a documented one. A field that does not stand there has to stand in another
//! example: what is the same in several answers is shown with all of its fields in one.

use std::collections::BTreeSet;

use serde_json::Value;

/// What stands below these names is a tool's, a user's or MCP's own.
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

/// Fails with the place of a field that stands in no example, or in this one as something else.
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
                // An enum shows each of its forms once.
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
fn a_field_that_is_not_documented_is_found() {
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
}
