//! What an agent reads: values, failures and kept values as the result of a tool.
//!
//! Invariant: whatever came is there, or the answer says where it is.

use mux_proto::{Error, Handle, Held};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, ErrorCode},
};
use serde_json::Value;

/// Of what a server puts beside an error, in characters.
const DATA: usize = 2_000;

/// A value as text: text as it is, everything else as JSON without spaces.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A failure that the agent can act on.
pub(super) fn failure(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(told(error))])
}

/// In a few lines: what, where, and what to do.
pub(super) fn told(error: &Error) -> String {
    let mut told = format!("{}: {}", error.kind, error.message);
    if let Some(line) = error.line {
        let column = error.column.unwrap_or(1);
        told.push_str(&format!("\n  at line {line}, column {column}"));
    }
    if let Some(hint) = error.agent_hint.as_ref().or(error.hint.as_ref()) {
        told.push_str(&format!("\n  hint: {}", hint.replace('\n', "\n  ")));
    }
    let data = error.details.as_ref().map(|details| &details["data"]);
    if let Some(data) = data.filter(|data| !data.is_null()) {
        let data: String = data.to_string().chars().take(DATA).collect();
        told.push_str(&format!("\n  data: {data}"));
    }
    let others = error.details.as_ref().and_then(|d| d["others"].as_array());
    for other in others.into_iter().flatten() {
        let line = other["line"].as_u64();
        let place = line.map_or_else(String::new, |line| format!(", at line {line}"));
        let message = other["message"].as_str().unwrap_or_default();
        told.push_str(&format!("\n  also{place}: {message}"));
    }
    told
}

/// How to get at a value that is too long for a message.
pub(super) fn kept(what: &str, handle: &Handle) -> String {
    let Handle {
        handle,
        bytes,
        preview,
        ..
    } = handle;
    format!(
        "{what} is {bytes} bytes of JSON, stored as {handle}. Use `read` to get it in parts, or all of it in a \
         program: const all = await mux.read(\"{handle}\"). It begins:\n{preview}"
    )
}

/// A part that a program handed over, as the content block that it is.
pub(super) fn block(part: &Held) -> ContentBlock {
    match part {
        Held::Value(block) => serde_json::from_value(block.clone())
            .unwrap_or_else(|_| ContentBlock::text(block.to_string())),
        Held::Stored(handle) => ContentBlock::text(kept("A part", handle)),
    }
}

/// A server's `CallToolResult`, whole.
pub(super) fn passed(held: Held) -> CallToolResult {
    match held {
        Held::Value(result) => match serde_json::from_value(result.clone()) {
            Ok(result) => as_clients_read(result),
            // Newer than we are.
            Err(_) => text(result.to_string()),
        },
        Held::Stored(handle) => text(kept("The result", &handle)),
    }
}

/// Structured content of a client is an object; an API's may be anything.
fn as_clients_read(mut result: CallToolResult) -> CallToolResult {
    if let Some(other) = result
        .structured_content
        .take_if(|value| !value.is_object())
        && result.content.is_empty()
    {
        result.content = vec![ContentBlock::text(plain(&other))];
    }
    result
}

/// What a server answered with an error of the protocol comes as one again; everything else is for the
/// model to read.
pub(super) fn refused(error: &Error) -> Result<CallToolResult, ErrorData> {
    let details = error.details.as_ref();
    match details.and_then(|details| details["code"].as_i64()) {
        Some(code) => {
            let code = ErrorCode(i32::try_from(code).unwrap_or(ErrorCode::INTERNAL_ERROR.0));
            let data = details.map(|details| details["data"].clone());
            let data = data.filter(|data| !data.is_null());
            Err(ErrorData::new(code, error.message.clone(), data))
        }
        None => Ok(failure(error)),
    }
}

/// For requests whose result has no place for a failure.
pub(super) fn protocol(error: &Error) -> ErrorData {
    match refused(error) {
        Err(error) => error,
        Ok(_) => {
            let code = match error.kind {
                mux_proto::Kind::NotFound => ErrorCode::RESOURCE_NOT_FOUND,
                mux_proto::Kind::Validation => ErrorCode::INVALID_PARAMS,
                _ => ErrorCode::INTERNAL_ERROR,
            };
            let data = serde_json::to_value(error.clone().for_agents());
            ErrorData::new(code, told(error), data.ok())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_object_goes_as_text() {
        for (given, expected) in [
            (
                json!({ "content": [], "structuredContent": 7 }),
                (json!([{ "type": "text", "text": "7" }]), None),
            ),
            (
                json!({ "content": [{ "type": "text", "text": "[1]" }], "structuredContent": [1] }),
                (json!([{ "type": "text", "text": "[1]" }]), None),
            ),
            (
                json!({ "content": [], "structuredContent": { "a": 1 } }),
                (json!([]), Some(json!({ "a": 1 }))),
            ),
        ] {
            let result = passed(Held::Value(given));
            let content = serde_json::to_value(&result.content).unwrap();
            assert_eq!((content, result.structured_content), expected);
        }
    }
}
