//! What a program gets for a tool's result: one documented rule.
//!
//! The structured content if the tool declares an output schema; otherwise the only text, parsed if
//! it is a JSON object or array; otherwise the only part, or an array of all parts. A result marked
//! as an error becomes an error of kind `tool`, with the content in its details.

use mux_sandbox::{Fault, Kind};
use serde_json::{Value, json};

use super::Tool;

const MAX_MESSAGE: usize = 4 * 1024;

/// `result` is the whole `CallToolResult`.
pub fn value_of(tool: &Tool, mut result: Value) -> Result<Value, Fault> {
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return Err(failure(tool, &result));
    }
    if tool.output_schema.is_some()
        && let Some(structured) = result.get_mut("structuredContent")
    {
        return Ok(structured.take());
    }
    let mut parts = match result.get_mut("content").map(Value::take) {
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    };
    match parts.len() {
        0 => Ok(result
            .get_mut("structuredContent")
            .map_or(Value::Null, Value::take)),
        1 => {
            let part = parts.swap_remove(0);
            match text_of(&part) {
                Some(text) => Ok(parsed(text)),
                None => Ok(part),
            }
        }
        _ => Ok(Value::Array(parts)),
    }
}

/// What a program gets for a resource, of the whole `ReadResourceResult`: the only text, parsed as above;
/// the only blob as it is; otherwise an array of all contents.
pub fn contents_of(mut result: Value) -> Value {
    let mut contents = match result.get_mut("contents").map(Value::take) {
        Some(Value::Array(contents)) => contents,
        _ => Vec::new(),
    };
    if contents.len() != 1 {
        return Value::Array(contents);
    }
    let only = contents.swap_remove(0);
    match only.get("text").and_then(Value::as_str) {
        Some(text) => parsed(text),
        None => only,
    }
}

/// Text that is a JSON object or array is what it says; any other text is text.
fn parsed(text: &str) -> Value {
    let start = text.trim_start();
    if start.starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(text)
    {
        return value;
    }
    Value::String(text.to_owned())
}

fn text_of(part: &Value) -> Option<&str> {
    (part.get("type").and_then(Value::as_str) == Some("text"))
        .then(|| part.get("text").and_then(Value::as_str))
        .flatten()
}

fn failure(tool: &Tool, result: &Value) -> Fault {
    let content = result.get("content").cloned().unwrap_or_else(|| json!([]));
    let text: Vec<&str> = content
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(text_of)
        .collect();
    let mut message = text.join("\n").trim().to_owned();
    if message.is_empty() {
        message = "the tool reported an error without a word".into();
    }
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push_str(" … (all of it is in the details)");
    }
    let mut fault = Fault::new(Kind::Tool, message).path(tool.path());
    let mut details = json!({ "content": content });
    if let Some(structured) = result.get("structuredContent") {
        details["structuredContent"] = structured.clone();
    }
    fault.details = Some(details.to_string());
    fault
}

#[cfg(test)]
mod tests {
    use crate::catalog::{ToolDescription, ToolSet};

    use super::*;

    fn value(output_schema: Option<Value>, result: Value) -> Result<Value, Fault> {
        let described = ToolDescription {
            name: "t".into(),
            input_schema: json!({}),
            output_schema,
            ..ToolDescription::default()
        };
        let set = ToolSet::new("s", vec![described], &[]);
        value_of(set.find("t").unwrap(), result)
    }

    #[test]
    fn one_rule_for_every_resource() {
        let text = |text: &str| json!({ "uri": "a", "text": text });
        let blob = json!({ "uri": "a", "mimeType": "image/png", "blob": "AA==" });
        for (contents, expected) in [
            (json!([text("hello")]), json!("hello")),
            (json!([text("{\"a\":1}")]), json!({ "a": 1 })),
            (json!([blob]), blob.clone()),
            (json!([]), json!([])),
            (json!([text("1"), blob]), json!([text("1"), blob])),
        ] {
            assert_eq!(contents_of(json!({ "contents": contents })), expected);
        }
        assert_eq!(contents_of(json!({})), json!([]));
    }

    #[test]
    fn one_rule_for_every_result() {
        let text = |t: &str| json!({ "type": "text", "text": t });
        let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        for (content, expected) in [
            (json!([text("hello")]), json!("hello")),
            (json!([text(" {\"a\": 1}")]), json!({ "a": 1 })),
            (json!([text("[1, 2]")]), json!([1, 2])),
            (json!([text("[not json")]), json!("[not json")),
            (json!([text("12")]), json!("12")),
            (json!([image.clone()]), image.clone()),
            (json!([text("a"), image.clone()]), json!([text("a"), image])),
            (json!([]), Value::Null),
        ] {
            assert_eq!(
                value(None, json!({ "content": content })).unwrap(),
                expected
            );
        }
    }

    #[test]
    fn structured_content_counts_when_it_was_promised() {
        let result = json!({ "content": [{ "type": "text", "text": "t" }], "structuredContent": { "n": 1 } });
        assert_eq!(
            value(Some(json!({})), result.clone()).unwrap(),
            json!({ "n": 1 })
        );
        assert_eq!(value(None, result).unwrap(), json!("t"));
    }

    #[test]
    fn an_error_result_throws_with_its_content() {
        let result =
            json!({ "isError": true, "content": [{ "type": "text", "text": "no such file" }] });
        let fault = value(None, result).unwrap_err();
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (Kind::Tool, "no such file")
        );
        assert_eq!(fault.path.as_deref(), Some("s.t"));
        assert!(fault.details.unwrap().contains("content"));
    }
}
