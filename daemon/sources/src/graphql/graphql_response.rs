//! A GraphQL response as the result of a call.
//!
//! The result of a function is the value of its field. With errors the call fails even if there is partial data,
//! because a program must not take it for the whole. The details contain both.
//!
//! Invariant: a body that is a GraphQL response counts as one regardless of its status.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// The number of errors in a message.
const MAX_REPORTED_ERRORS: usize = 3;

/// `data`, `errors` and `extensions` of a body, if it is a GraphQL response.
pub(super) fn read(body: &[u8]) -> Option<Map<String, Value>> {
    let Ok(Value::Object(mut body)) = serde_json::from_slice(body) else {
        return None;
    };
    let has_errors = body
        .get("errors")
        .and_then(Value::as_array)
        .is_some_and(|errors| !errors.is_empty() && errors.iter().all(Value::is_object));
    let has_data = body
        .get("data")
        .is_some_and(|data| data.is_object() || data.is_null());
    if !has_errors {
        body.shift_remove("errors");
    }
    (has_errors || has_data).then_some(body)
}

/// An MCP `CallToolResult` with the value of `field`, or with the whole response if `None`.
pub(super) fn result(mut answer: Map<String, Value>, field: Option<&str>, status: u16) -> Value {
    let data = answer.shift_remove("data").unwrap_or(Value::Null);
    let Some(field) = field else {
        let mut whole = Map::from_iter([("data".to_owned(), data)]);
        for name in ["errors", "extensions"] {
            whole.extend(answer.shift_remove_entry(name));
        }
        return with_status(whole.into(), status);
    };
    match (answer.shift_remove("errors"), data) {
        (Some(errors), data) => failed(errors, data, status),
        (None, Value::Object(mut data)) => match data.shift_remove(field) {
            Some(value) => with_status(value, status),
            None => refused(&format!("the response has no `{field}`")),
        },
        (None, _) => refused("the response has neither data nor errors"),
    }
}

/// A successful result, with text content for clients that do not read structured content.
fn with_status(value: Value, status: u16) -> Value {
    let content = json!([{ "type": "text" }]);
    let mut result = json!({ "content": content, "_meta": { "status": status } });
    // Moved, because `json!` would copy it and it may be long.
    result["content"][0]["text"] = value.to_string().into();
    result["structuredContent"] = value;
    result
}

/// An error result with a message for the caller.
pub(super) fn refused(why: &str) -> Value {
    json!({ "isError": true, "content": [{ "type": "text", "text": why }] })
}

/// An error result with details. Its `_meta` status marks the structured content as the details of the error.
fn failed(errors: Value, data: Value, status: u16) -> Value {
    let message = message(&errors);
    let mut details = json!({ "errors": null, "data": null, "status": status });
    // Moved, because `json!` would copy it.
    details["errors"] = errors;
    details["data"] = data;
    let mut result = json!({
        "isError": true,
        "content": [{ "type": "text", "text": message }],
        "_meta": { "status": status },
    });
    result["structuredContent"] = details;
    result
}

/// The first few errors, each with its path.
pub(super) fn message(errors: &Value) -> String {
    let errors = errors.as_array().map(Vec::as_slice).unwrap_or_default();
    let messages = errors.iter().take(MAX_REPORTED_ERRORS).map(|error| {
        let text = error.get("message").and_then(Value::as_str);
        let mut text = text.unwrap_or("an error without a message").to_owned();
        let path = error.get("path").and_then(Value::as_array);
        // The first segment is the function's own field.
        if let Some(path) = path.filter(|path| path.len() > 1) {
            let steps = path.iter().map(|step| match step {
                Value::String(name) => name.clone(),
                other => other.to_string(),
            });
            _ = write!(text, " (at {})", steps.collect::<Vec<_>>().join("."));
        }
        text
    });
    let mut text = messages.collect::<Vec<_>>().join("; ");
    if errors.len() > MAX_REPORTED_ERRORS {
        _ = write!(
            text,
            " (and {} more errors)",
            errors.len() - MAX_REPORTED_ERRORS
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(body: &Value, field: Option<&str>) -> Value {
        result(read(body.to_string().as_bytes()).unwrap(), field, 200)
    }

    #[test]
    fn function_result_is_its_field_and_a_document_result_is_the_whole_response() {
        let body = json!({ "data": { "user": { "id": "1" } }, "extensions": { "cost": 1 } });
        let user = outcome(&body, Some("user"));
        assert_eq!(user["structuredContent"], json!({ "id": "1" }));
        assert_eq!(user["content"][0]["text"], "{\"id\":\"1\"}");
        assert_eq!(outcome(&body, None)["structuredContent"], body);
        let nothing = outcome(&json!({ "data": { "user": null } }), Some("user"));
        assert_eq!(nothing["structuredContent"], Value::Null);
        assert!(nothing.get("isError").is_none());
    }

    #[test]
    fn errors_fail_a_function_call_but_not_a_document_call() {
        let errors = json!([
            { "message": "no such user", "path": ["user"], "extensions": { "code": "NOT_FOUND" } },
            { "message": "hidden", "path": ["user", "posts", 0, "title"] },
            { "message": "c" }, { "message": "d" },
        ]);
        for data in [
            Value::Null,
            json!({ "user": { "posts": [{ "title": null }] } }),
        ] {
            let body = json!({ "errors": errors, "data": data });
            let failed = outcome(&body, Some("user"));
            assert_eq!(failed["isError"], true);
            let details = json!({ "errors": errors, "data": data, "status": 200 });
            assert_eq!(failed["structuredContent"], details);
            assert_eq!(
                failed["content"][0]["text"],
                "no such user; hidden (at user.posts.0.title); c (and 1 more errors)"
            );
            let whole = outcome(&body, None);
            assert!(whole.get("isError").is_none());
            assert_eq!(
                whole["structuredContent"],
                json!({ "data": data, "errors": errors })
            );
        }
        let refused = outcome(&json!({ "errors": [{}] }), None);
        assert_eq!(refused["structuredContent"]["data"], Value::Null);
    }

    #[test]
    fn body_that_is_not_a_graphql_response_is_rejected() {
        for body in [
            "",
            "<html>",
            "[]",
            "{}",
            "{\"data\": 1}",
            "{\"errors\": []}",
            "{\"errors\": \"x\"}",
        ] {
            assert!(read(body.as_bytes()).is_none(), "{body}");
        }
        let empty = read(b"{\"data\": {\"a\": 1}, \"errors\": []}").unwrap();
        assert_eq!(result(empty, Some("a"), 200)["structuredContent"], 1);
    }
}
