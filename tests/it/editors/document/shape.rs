//! Whether an answer has the shape of a documented one, which has every field that may be there.

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

/// Fails with the place of a field that the documented one does not have, or has as something else.
pub(super) fn misfit(documented: &Value, answer: &Value) -> Result<(), String> {
    match (documented, answer) {
        (Value::Object(known), Value::Object(fields)) => {
            for (name, value) in fields {
                let documented = known.get(name).ok_or_else(|| format!(".{name}"))?;
                if !FREE.contains(&name.as_str()) {
                    misfit(documented, value).map_err(|place| format!(".{name}{place}"))?;
                }
            }
            Ok(())
        }
        (Value::Array(known), Value::Array(items)) => {
            for item in items {
                // An enum shows each of its forms once.
                let fits = known.iter().any(|form| misfit(form, item).is_ok());
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
    let fits = |text: &str| misfit(&documented, &serde_json::from_str(text).unwrap());
    assert_eq!(fits(r#"{"a": [{ "y": "u" }, { "x": {} }]}"#), Ok(()));
    assert_eq!(fits(r#"{"c": 1}"#), Err(".c".into()));
    assert_eq!(fits(r#"{"b": 1}"#), Err(".b: 1".into()));
    assert!(fits(r#"{"a": [{ "z": 1 }]}"#).is_err());
}
