//! Reads the arguments of a built-in tool as its schema intends: models write a JSON string instead of an object,
//! numbers as strings, one string instead of a list, and null for omitted arguments.

use mux_proto::{Error, Kind};
use rmcp::model::JsonObject;
use serde_json::Value;

/// Converts the members of `arguments` that are not of the kind in the schema. An error names the first member that
/// cannot be converted.
pub(super) fn convert_arguments(
    tool: &str,
    arguments: &mut JsonObject,
    schema: &JsonObject,
) -> Result<(), Error> {
    convert_members(arguments, schema, "").map_err(|why| {
        Error::new(
            Kind::Validation,
            format!("invalid arguments for `{tool}`: {why}"),
        )
    })
}

fn convert_members(
    members: &mut JsonObject,
    schema: &JsonObject,
    path: &str,
) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
    for (name, property) in properties {
        let Some(value) = members.get_mut(name) else {
            continue;
        };
        if value.is_null() && !is_required(name) {
            members.remove(name);
            continue;
        }
        convert_value(value, property, &format!("{path}{name}"))?;
    }
    Ok(())
}

fn convert_value(value: &mut Value, schema: &Value, path: &str) -> Result<(), String> {
    let kinds = kinds_of(schema);
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_of_kind(value, kind)) {
        *value = meant_value(value, &kinds).ok_or_else(|| mismatch(value, &kinds, path))?;
    } else if kinds.contains(&"object")
        && let Some(container) = value.as_str().and_then(parse_container)
    {
        // Any JSON value is allowed, and this string is the JSON of an object or list.
        *value = container;
    }
    match value {
        Value::Object(members) => match schema.as_object() {
            Some(schema) => convert_members(members, schema, &format!("{path}.")),
            None => Ok(()),
        },
        Value::Array(items) => items.iter_mut().enumerate().try_for_each(|(at, item)| {
            convert_value(item, &schema["items"], &format!("{path}[{at}]"))
        }),
        _ => Ok(()),
    }
}

fn kinds_of(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    }
}

/// The value of another kind that is meant.
fn meant_value(value: &Value, kinds: &[&str]) -> Option<Value> {
    let wants = |kind: &str| kinds.contains(&kind);
    if let Some(text) = value.as_str() {
        let parsed: Option<Value> = serde_json::from_str(text.trim()).ok();
        let parsed = parsed.filter(|parsed| kinds.iter().any(|kind| is_of_kind(parsed, kind)));
        if parsed.is_some() {
            return parsed;
        }
    }
    match value {
        Value::String(text) if wants("boolean") => match text.trim().to_lowercase().as_str() {
            "true" | "yes" => Some(true.into()),
            "false" | "no" => Some(false.into()),
            _ => None,
        },
        // A whole number with a fraction of zero.
        Value::Number(number) if wants("integer") => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0)?;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "larger numbers are left alone"
            )]
            let integer = whole as i64;
            (whole.abs() < 9e15).then(|| Value::from(integer))
        }
        Value::Number(_) | Value::Bool(_) if wants("string") => Some(value.to_string().into()),
        Value::String(_) if wants("array") => Some(Value::Array(vec![value.clone()])),
        _ => None,
    }
}

/// The object or list that this JSON string represents.
fn parse_container(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn mismatch(value: &Value, kinds: &[&str], path: &str) -> String {
    let given = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string that is not the JSON text of one",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let named: Vec<&str> = kinds
        .iter()
        .map(|kind| match *kind {
            "object" => "an object",
            "array" => "a list",
            "string" => "a string",
            "number" => "a number",
            "integer" => "an integer",
            "boolean" => "true or false",
            _ => "null",
        })
        .collect();
    format!("`{path}` must be {}, and it is {given}", named.join(" or "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn converted(value: &Value) -> Result<Value, String> {
        let schema = json!({
            "properties": {
                "any": { "type": ["object", "array", "string", "number", "boolean", "null"] },
                "args": { "type": "object" },
                "count": { "type": "integer" },
                "names": { "type": "array", "items": { "type": "string" } },
                "seconds": { "type": "number" },
                "steps": { "type": "array", "items": { "properties": { "args": { "type": "object" } } } },
                "text": { "type": "string" },
                "wait": { "type": "boolean" },
            },
            "required": ["text"],
        });
        let mut arguments = value.as_object().unwrap().clone();
        let schema = schema.as_object().unwrap();
        let converted = convert_arguments("x", &mut arguments, schema);
        converted
            .map(|()| Value::Object(arguments))
            .map_err(|error| error.message)
    }

    #[test]
    fn arguments_are_read_as_what_the_schema_says() {
        for (given, read) in [
            (
                json!({ "args": "{\"a\": 1}" }),
                json!({ "args": { "a": 1 } }),
            ),
            (
                json!({ "args": { "a": "{}" } }),
                json!({ "args": { "a": "{}" } }),
            ),
            (
                json!({ "any": " [1]", "seconds": "30", "wait": "True", "count": 5.0 }),
                json!({ "any": [1], "seconds": 30, "wait": true, "count": 5 }),
            ),
            (json!({ "any": "5" }), json!({ "any": "5" })),
            (json!({ "any": "{half" }), json!({ "any": "{half" })),
            (json!({ "names": "a.b" }), json!({ "names": ["a.b"] })),
            (
                json!({ "names": "[\"a\", 5]" }),
                json!({ "names": ["a", "5"] }),
            ),
            (
                json!({ "steps": "[{\"args\": \"{}\"}]" }),
                json!({ "steps": [{ "args": {} }] }),
            ),
            (json!({ "text": 5, "wait": null }), json!({ "text": "5" })),
            (json!({ "other": "{}" }), json!({ "other": "{}" })),
        ] {
            assert_eq!(converted(&given).as_ref(), Ok(&read), "{given}");
        }
        for (given, part) in [
            (json!({ "args": "{half" }), "`args` must be an object"),
            (json!({ "args": [] }), "and it is a list"),
            (json!({ "seconds": "soon" }), "`seconds` must be a number"),
            (json!({ "steps": [{ "args": 5 }] }), "`steps[0].args`"),
            (json!({ "text": null }), "and it is null"),
        ] {
            let error = converted(&given).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
