//! The value that a program gets for a tool's result, by one documented rule.
//!
//! If the tool declares an output schema, the value is the structured content, or its member `result` if that schema
//! says that it only wraps a value (`x-fastmcp-wrap-result`). Otherwise it is the only text, as `text_reading` reads
//! it, or else the only part, or an array of all parts. A result marked as an error becomes an error of kind `tool`,
//! with the content in its details: for an API called over HTTP these are `{ status, headers, body }`.
//!
//! Structured content that does not match its schema is an error of kind `validation`, which names the path but no
//! value, because values may be secret. The complete result is available raw.

use std::sync::{Arc, OnceLock};

use mux_wire::{Fault, FaultKind};
use serde_json::{Value, json};
use tracing::{debug, warn};

use super::{
    LearnedShapes, Tool,
    text_reading::{parse_collection, read_text},
};
use mux_process::blocking_pool;
use mux_schema::{CompiledSchema, MistakeWording, SchemaSlot, SchemaVerdict, UncheckableSchema};
use mux_settings::ResultCheck;
use mux_text::json_weight::is_light;
use mux_typegen::TextForm;

/// The longest error message of a server. The details have the complete text.
pub const MAX_ERROR_MESSAGE_BYTES: usize = 4 * 1024;

/// The output schema, compiled at the first result, and the first mismatch of a result.
#[derive(Debug, Default)]
pub(super) struct ResultSchema {
    schema: SchemaSlot,
    mismatch: OnceLock<String>,
}

impl ResultSchema {
    pub(super) fn notes(&self) -> Vec<String> {
        self.schema.notes()
    }
}

/// Extracts the value from a complete `CallToolResult`. Large results are processed off the runtime's threads.
pub async fn value_of(
    tool: &Tool,
    mut result: Value,
    check: ResultCheck,
    learned: &LearnedShapes,
) -> Result<Value, Fault> {
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        let path = tool.path();
        let is_long = !is_light(&result);
        return Err(blocking_pool::run_if(is_long, move || failure(&path, &result)).await);
    }
    if tool.has_output_schema() {
        let structured = result.get_mut("structuredContent").map(Value::take);
        let structured = tool.check_result(structured, check).await?;
        if let Some(structured) = structured {
            return Ok(if tool.wraps_result() {
                unwrapped(structured)
            } else {
                structured
            });
        }
    }
    let is_long = !is_light(&result);
    let form = learned.text_form(tool);
    let read = blocking_pool::run_if(is_long, move || value_without_schema(result, form)).await;
    let (value, told) = read?;
    learned.add_text_form(tool, told);
    Ok(value)
}

/// The value, and what it reveals about the form of the tool's texts.
fn value_without_schema(mut result: Value, form: TextForm) -> Result<(Value, TextForm), Fault> {
    let untold = |value| Ok((value, TextForm::default()));
    let mut parts = match result.get_mut("content").map(Value::take) {
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    };
    match parts.len() {
        0 => untold(
            result
                .get_mut("structuredContent")
                .map_or(Value::Null, Value::take),
        ),
        1 => {
            let part = parts.swap_remove(0);
            // A server that repeats its text as structured content states that its text is JSON.
            if form.is_text()
                && let Some(structured) = repeated_structure(&mut result, &part)
            {
                return untold(structured);
            }
            // Drops the structured copy of the same value before the text is parsed.
            drop(result);
            match text_of(&part) {
                Some(text) => read_text(text, form),
                None => untold(part),
            }
        }
        _ => untold(Value::Array(parts)),
    }
}

/// The structured content, if it is an object or array and the text is its JSON.
fn repeated_structure(result: &mut Value, part: &Value) -> Option<Value> {
    let structured = result.get_mut("structuredContent")?;
    let is_collection = structured.is_object() || structured.is_array();
    let text = text_of(part).filter(|_| is_collection)?;
    let parsed = serde_json::from_str::<Value>(text).ok()?;
    (parsed == *structured).then(|| structured.take())
}

/// Unwraps the member `result`.
fn unwrapped(mut structured: Value) -> Value {
    let value = structured.get_mut("result").map(Value::take);
    value.unwrap_or(structured)
}

impl Tool {
    /// The first mismatch between a result and the output schema, if any.
    pub fn mismatch(&self) -> Option<&str> {
        self.results.mismatch.get().map(String::as_str)
    }

    /// Validates the structured content, depending on `check`.
    async fn check_result(
        &self,
        structured: Option<Value>,
        check: ResultCheck,
    ) -> Result<Option<Value>, Fault> {
        if check == ResultCheck::Off {
            return Ok(structured);
        }
        let path = self.path();
        let (structured, mistakes) = match structured {
            None => {
                let missing = "it declares an output schema but returned no structured content";
                (None, vec![missing.to_owned()])
            }
            Some(value) => {
                let Some(schema) = self.result_schema().await else {
                    return Ok(Some(value));
                };
                let (value, verdict) = schema.check(value, MistakeWording::Stranger).await;
                match verdict {
                    SchemaVerdict::Fails(mistakes) => (Some(value), mistakes),
                    SchemaVerdict::Fits => return Ok(Some(value)),
                    SchemaVerdict::TooMuch => {
                        debug!(tool = path, "this result takes too long to validate");
                        return Ok(Some(value));
                    }
                }
            }
        };
        let message = format!(
            "the result of {path} does not match its output schema: {}",
            mistakes.join("; ")
        );
        if self.results.mismatch.set(message.clone()).is_ok() {
            warn!(tool = path, "{message}");
        }
        if check == ResultCheck::Warn {
            return Ok(structured);
        }
        let hint = format!(
            "this is an error of the server, and the call has happened. `mux.call.raw` returns the whole result, and \
             check_results = \"warn\" in [servers.{}] lets such results pass",
            self.server
        );
        let mut fault = Fault::new(FaultKind::Validation, message)
            .hint(hint)
            .path(path);
        fault.details = Some(json!({ "mistakes": mistakes }).to_string());
        Err(fault)
    }

    async fn result_schema(&self) -> Option<Arc<CompiledSchema>> {
        let refused = |error: &UncheckableSchema| {
            warn!(tool = self.path(), %error, "the output schema cannot be compiled; results are not validated");
        };
        let text = || self.output_schema_text().unwrap_or("true").to_owned();
        self.results.schema.get(text, refused).await
    }
}

/// The value that a program gets for a resource, from a complete `ReadResourceResult`: the only text, parsed if it is a
/// JSON object or array, or the only blob unchanged, or else an array of all contents.
pub async fn contents_of(result: Value) -> Result<Value, Fault> {
    let is_long = !is_light(&result);
    blocking_pool::run_if(is_long, move || contents(result)).await
}

fn contents(mut result: Value) -> Result<Value, Fault> {
    let mut contents = match result.get_mut("contents").map(Value::take) {
        Some(Value::Array(contents)) => contents,
        _ => Vec::new(),
    };
    if contents.len() != 1 {
        return Ok(Value::Array(contents));
    }
    let only = contents.swap_remove(0);
    match only.get("text").and_then(Value::as_str) {
        Some(text) => Ok(parse_collection(text)?.unwrap_or_else(|| text.into())),
        None => Ok(only),
    }
}

fn text_of(part: &Value) -> Option<&str> {
    (part.get("type").and_then(Value::as_str) == Some("text"))
        .then(|| part.get("text").and_then(Value::as_str))
        .flatten()
}

fn failure(path: &str, result: &Value) -> Fault {
    let content = result.get("content").cloned().unwrap_or_else(|| json!([]));
    let mut message = String::new();
    // More text would not be shown.
    let texts = content.as_array().into_iter().flatten().filter_map(text_of);
    for text in texts {
        if !message.is_empty() {
            message.push('\n');
        }
        message.push_str(&text[..text.floor_char_boundary(MAX_ERROR_MESSAGE_BYTES + 1)]);
        if message.len() > MAX_ERROR_MESSAGE_BYTES {
            break;
        }
    }
    let mut message = message.trim().to_owned();
    if message.is_empty() {
        message = "the tool reported an error without a message".into();
    }
    if message.len() > MAX_ERROR_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_ERROR_MESSAGE_BYTES));
        message.push_str(" … (all of it is in the details)");
    }
    let mut fault = Fault::new(FaultKind::Tool, message).path(path);
    let structured = result.get("structuredContent");
    let details = match structured {
        // For an API, programs need the status and the response.
        Some(answer) if result["_meta"]["status"].is_u64() && answer["status"].is_u64() => {
            answer.clone()
        }
        Some(structured) => json!({ "content": content, "structuredContent": structured }),
        None => json!({ "content": content }),
    };
    fault.details = Some(details.to_string());
    fault
}

#[cfg(test)]
mod tests {
    use mux_text::json_weight::MAX_JSON_WEIGHT;

    use crate::{ToolDescription, ToolSet, cache_slot::CacheSlot};

    use mux_settings::ToolOverrides;

    use super::*;

    async fn value(output_schema: Option<Value>, result: Value) -> Result<Value, Fault> {
        checked(output_schema, result, ResultCheck::Error).await
    }

    async fn checked(
        output_schema: Option<Value>,
        result: Value,
        check: ResultCheck,
    ) -> Result<Value, Fault> {
        let described = ToolDescription {
            name: "t".into(),
            input_schema: json!({}).into(),
            output_schema: output_schema.map(Into::into),
            ..ToolDescription::default()
        };
        let set = ToolSet::new("s", vec![described], &[], &ToolOverrides::default());
        let learned = LearnedShapes::new(&CacheSlot::default());
        value_of(set.find("t").unwrap(), result, check, &learned).await
    }

    #[tokio::test]
    async fn resource_contents_become_one_value() {
        let text = |text: &str| json!({ "uri": "a", "text": text });
        let blob = json!({ "uri": "a", "mimeType": "image/png", "blob": "AA==" });
        for (contents, expected) in [
            (json!([text("hello")]), json!("hello")),
            (json!([text("{\"a\":1}")]), json!({ "a": 1 })),
            (json!([blob]), blob.clone()),
            (json!([]), json!([])),
            (json!([text("1"), blob]), json!([text("1"), blob])),
        ] {
            let read = contents_of(json!({ "contents": contents })).await;
            assert_eq!(read.unwrap(), expected);
        }
        assert_eq!(contents_of(json!({})).await.unwrap(), json!([]));
        // Ten megabytes of objects would take half a gigabyte.
        let heavy = format!("[{}{{}}]", "{},".repeat(MAX_JSON_WEIGHT / 4));
        let refused = contents_of(json!({ "contents": [text(&heavy)] })).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind, FaultKind::Limit);
        assert!(refused.message.contains("1000000"), "{}", refused.message);
    }

    #[tokio::test]
    async fn content_becomes_one_value() {
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
                value(None, json!({ "content": content })).await.unwrap(),
                expected
            );
        }
    }

    #[tokio::test]
    async fn structured_content_is_used_only_with_an_output_schema() {
        let result = json!({ "content": [{ "type": "text", "text": "t" }], "structuredContent": { "n": 1 } });
        assert_eq!(
            value(Some(json!({})), result.clone()).await.unwrap(),
            json!({ "n": 1 })
        );
        assert_eq!(value(None, result).await.unwrap(), json!("t"));
    }

    #[tokio::test]
    async fn text_that_repeats_structured_content_is_json() {
        let described = ToolDescription {
            name: "t".into(),
            input_schema: json!({}).into(),
            ..ToolDescription::default()
        };
        let set = ToolSet::new("s", vec![described], &[], &ToolOverrides::default());
        let tool = set.find("t").unwrap();
        let learned = LearnedShapes::new(&CacheSlot::default());
        for (text, structured, expected) in [
            ("words", Value::Null, json!("words")),
            ("[]", Value::Null, json!("[]")),
            ("[ ]", json!([]), json!([])),
            ("[]", json!({ "result": [] }), json!("[]")),
        ] {
            let result = json!({
                "content": [{ "type": "text", "text": text }],
                "structuredContent": structured,
            });
            let value = value_of(tool, result, ResultCheck::Error, &learned).await;
            assert_eq!(value.unwrap(), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn wrapped_result_is_unwrapped_only_if_marked() {
        let schema = |marked: bool| {
            json!({
                "type": "object",
                "properties": { "result": { "type": "integer" } },
                "required": ["result"],
                "x-fastmcp-wrap-result": marked,
            })
        };
        let result = || json!({ "content": [], "structuredContent": { "result": 5 } });
        for (schema, expected) in [
            (schema(true), json!(5)),
            // A schema without the marker is not unwrapped.
            (schema(false), json!({ "result": 5 })),
        ] {
            assert_eq!(value(Some(schema), result()).await.unwrap(), expected);
        }
        let described = ToolDescription {
            name: "t".into(),
            input_schema: json!({}).into(),
            output_schema: Some(schema(true).into()),
            ..ToolDescription::default()
        };
        let set = ToolSet::new("s", vec![described], &[], &ToolOverrides::default());
        let tool = set.find("t").unwrap();
        assert!(
            tool.signature().ends_with(": Promise<number>"),
            "{}",
            tool.signature()
        );
        assert_eq!(tool.definition()["outputSchema"], schema(true));
        let wrong = json!({ "content": [], "structuredContent": { "result": "5" } });
        let fault = value(Some(schema(true)), wrong).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Validation);
    }

    #[tokio::test]
    async fn error_result_becomes_a_fault_with_its_content() {
        let result =
            json!({ "isError": true, "content": [{ "type": "text", "text": "no such file" }] });
        let fault = value(None, result).await.unwrap_err();
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (FaultKind::Tool, "no such file")
        );
        assert_eq!(fault.path.as_deref(), Some("s.t"));
        assert!(fault.details.unwrap().contains("content"));
    }

    #[tokio::test]
    async fn mismatching_result_is_an_error_without_its_values() {
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        let text = json!([{ "type": "text", "text": "as text" }]);
        let structured = |value: Value| json!({ "content": text, "structuredContent": value });
        for (result, expected) in [
            (
                structured(json!({ "n": "secret" })),
                Err("/n: expected integer, got string"),
            ),
            (structured(json!({})), Err("the property \"n\" is missing")),
            (structured(Value::Null), Err("expected object, got null")),
            (
                json!({ "content": text }),
                Err("returned no structured content"),
            ),
            (structured(json!({ "n": 1 })), Ok(json!({ "n": 1 }))),
        ] {
            let outcome = value(Some(schema.clone()), result.clone()).await;
            match expected {
                Ok(expected) => assert_eq!(outcome.unwrap(), expected),
                Err(part) => {
                    let fault = outcome.unwrap_err();
                    assert_eq!(fault.kind, FaultKind::Validation);
                    assert!(fault.message.contains(part), "{}", fault.message);
                    assert!(!fault.details.unwrap().contains("secret"));
                    assert_eq!(fault.path.as_deref(), Some("s.t"));
                    for lenient in [ResultCheck::Warn, ResultCheck::Off] {
                        let passed = checked(Some(schema.clone()), result.clone(), lenient).await;
                        assert!(passed.is_ok());
                    }
                }
            }
        }
        for (schema, passes) in [
            (json!({ "type": "array" }), true),
            (json!({ "type": "nonsense" }), true),
            (json!({ "prefixItems": [{ "const": 2 }] }), false),
        ] {
            let result = structured(json!([1]));
            let outcome = checked(Some(schema), result, ResultCheck::Error).await;
            assert_eq!(outcome.ok(), passes.then(|| json!([1])));
        }
    }
}
