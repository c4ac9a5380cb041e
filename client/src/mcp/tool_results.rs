//! Tool results for the agent: values, errors and stored values.
//!
//! Invariant: a result is complete, or says where the rest can be read.

use mux_proto::{Error, Handle, Held, Kind};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, ErrorCode},
};
use serde_json::Value;

use super::fence::{DataOrigin, FenceRules, ResultFence, mark_direct_result};

/// The maximum length of an error's `data`, in characters.
const MAX_ERROR_DATA_CHARS: usize = 2_000;

/// A value as text: a string as it is, everything else as compact JSON.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn text_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// An error result, which the model can read and act on.
pub(super) fn error_result(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(render_error(error))])
}

/// The error with the message enclosed if it is a server's.
pub(super) fn fenced_error(mut error: Error, fence: Option<&ResultFence>) -> Error {
    if let Some(fence) = fence.filter(|_| error.kind == Kind::Tool) {
        error.message = fence.enclose_text(error.message);
    }
    error
}

/// Renders an error in a few lines: kind and message, position, hint, data.
pub(super) fn render_error(error: &Error) -> String {
    let mut text = format!("{}: {}", error.kind, error.message);
    if let Some(line) = error.line {
        let column = error.column.unwrap_or(1);
        text.push_str(&format!("\n  at line {line}, column {column}"));
    }
    if let Some(hint) = error.agent_hint.as_ref().or(error.hint.as_ref()) {
        text.push_str(&format!("\n  hint: {}", hint.replace('\n', "\n  ")));
    }
    let data = error.details.as_ref().map(|details| &details["data"]);
    if let Some(data) = data.filter(|data| !data.is_null()) {
        let data: String = data
            .to_string()
            .chars()
            .take(MAX_ERROR_DATA_CHARS)
            .collect();
        text.push_str(&format!("\n  data: {data}"));
    }
    let others = error.details.as_ref().and_then(|d| d["others"].as_array());
    for other in others.into_iter().flatten() {
        let line = other["line"].as_u64();
        let place = line.map_or_else(String::new, |line| format!(", at line {line}"));
        let message = other["message"].as_str().unwrap_or_default();
        text.push_str(&format!("\n  also{place}: {message}"));
    }
    text
}

/// Explains how to read a value that is too long for a message. Its beginning follows.
pub(super) fn stored_value_notice(what: &str, handle: &Handle) -> String {
    let Handle { handle, bytes, .. } = handle;
    format!(
        "{what} is {bytes} bytes of JSON, stored as {handle}. Use `read` to get it in parts, or all of it in a \
         program: const all = await mux.read(\"{handle}\"). It begins:"
    )
}

/// A part that a program emitted, as a content block.
pub(super) fn part_content(part: &Held) -> ContentBlock {
    match part {
        Held::Value(block) => {
            (block.parse()).unwrap_or_else(|_| ContentBlock::text(block.to_string()))
        }
        Held::Stored(handle) => {
            let notice = stored_value_notice("A part", handle);
            ContentBlock::text(format!("{notice}\n{}", handle.preview))
        }
    }
}

/// The result of `call`, which a model reads: all of its text is enclosed.
pub(super) fn called_result(held: Held, origin: &DataOrigin, rules: &FenceRules) -> CallToolResult {
    let first = stored_notice_blocks(&held);
    let mut result = server_result(held);
    origin.mark_meta(&mut result.meta);
    if let Some(fence) = origin.fence(rules) {
        fence.enclose(&mut result.content, first);
    }
    result
}

/// The result of a tool that the client called by its own name.
pub(super) fn direct_result(held: Held, origin: &DataOrigin, rules: &FenceRules) -> CallToolResult {
    match held {
        Held::Stored(_) => called_result(held, origin, rules),
        Held::Value(_) => {
            let mut result = server_result(held);
            mark_direct_result(&mut result, origin, rules);
            result
        }
    }
}

/// How many blocks of its result are our own words.
fn stored_notice_blocks(held: &Held) -> usize {
    match held {
        Held::Stored(_) => 1,
        Held::Value(_) => 0,
    }
}

/// A server's complete `CallToolResult`, or the handle and the beginning of a stored one.
fn server_result(held: Held) -> CallToolResult {
    match held {
        Held::Value(result) => match result.parse() {
            Ok(result) => with_object_structure(result),
            // A format that this build does not know.
            Err(_) => text_result(result.to_string()),
        },
        Held::Stored(handle) => CallToolResult::success(vec![
            ContentBlock::text(stored_value_notice("The result", &handle)),
            ContentBlock::text(handle.preview),
        ]),
    }
}

/// Moves structured content that is not an object to the text content: MCP clients accept only objects, but an API's
/// result may be any value.
fn with_object_structure(mut result: CallToolResult) -> CallToolResult {
    if let Some(other) = result
        .structured_content
        .take_if(|value| !value.is_object())
        && result.content.is_empty()
    {
        result.content = vec![ContentBlock::text(value_text(&other))];
    }
    result
}

/// Passes a protocol error of the server on as a protocol error; any other error becomes an error result.
pub(super) fn result_or_protocol_error(error: &Error) -> Result<CallToolResult, ErrorData> {
    let details = error.details.as_ref();
    match details.and_then(|details| details["code"].as_i64()) {
        Some(code) => {
            let code = ErrorCode(i32::try_from(code).unwrap_or(ErrorCode::INTERNAL_ERROR.0));
            let data = details.map(|details| details["data"].clone());
            let data = data.filter(|data| !data.is_null());
            Err(ErrorData::new(code, error.message.clone(), data))
        }
        None => Ok(error_result(error)),
    }
}

/// An error as a protocol error, for requests whose result cannot express a failure.
pub(super) fn protocol_error(error: &Error) -> ErrorData {
    match result_or_protocol_error(error) {
        Err(error) => error,
        Ok(_) => {
            let code = match error.kind {
                Kind::NotFound => ErrorCode::RESOURCE_NOT_FOUND,
                Kind::Validation => ErrorCode::INVALID_PARAMS,
                _ => ErrorCode::INTERNAL_ERROR,
            };
            let data = serde_json::to_value(error.clone().for_agents());
            ErrorData::new(code, render_error(error), data.ok())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn structured_content_that_is_not_an_object_becomes_text() {
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
            let result = server_result(Held::Value(given.into()));
            let content = serde_json::to_value(&result.content).unwrap();
            assert_eq!((content, result.structured_content), expected);
        }
    }
}
