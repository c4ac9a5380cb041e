//! What a program gets for a tool's result: one documented rule.
//!
//! The structured content if the tool declares an output schema; otherwise the only text, parsed if
//! it is a JSON object or array; otherwise the only part, or an array of all parts. A result marked
//! as an error becomes an error of kind `tool`, with the content in its details: of an API that was called over HTTP
//! these are `{ status, headers, body }`.
//!
//! Structured content that is not as its schema says is an error of kind `validation`, which tells where and never
//! what: the value may be secret. The whole result is there for whoever asks for it raw.

use std::sync::OnceLock;

use mux_sandbox::{Fault, Kind};
use serde_json::{Value, json};
use tracing::{debug, warn};

use super::{
    Tool,
    schema::{Schema, Verdict, Words},
};
use crate::settings::ResultCheck;

const MAX_MESSAGE: usize = 4 * 1024;

/// The compiled output schema, made with the first result, and what was wrong with a result.
#[derive(Debug, Default)]
pub(super) struct Results {
    schema: OnceLock<Option<Schema>>,
    mismatch: OnceLock<String>,
}

/// `result` is the whole `CallToolResult`.
pub fn value_of(tool: &Tool, mut result: Value, check: ResultCheck) -> Result<Value, Fault> {
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return Err(failure(tool, &result));
    }
    if tool.has_output_schema() {
        let structured = result.get_mut("structuredContent").map(Value::take);
        tool.check_result(structured.as_ref(), check)?;
        if let Some(structured) = structured {
            return Ok(structured);
        }
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
            // What it says again as a value, which is made once more of the text.
            drop(result);
            match text_of(&part) {
                Some(text) => Ok(parsed(text)),
                None => Ok(part),
            }
        }
        _ => Ok(Value::Array(parts)),
    }
}

impl Tool {
    /// What was wrong with a result, if one was not as the tool declares.
    pub fn mismatch(&self) -> Option<&str> {
        self.results.mismatch.get().map(String::as_str)
    }

    fn check_result(&self, structured: Option<&Value>, check: ResultCheck) -> Result<(), Fault> {
        if check == ResultCheck::Off {
            return Ok(());
        }
        let path = self.path();
        let mistakes = match structured {
            None => {
                vec!["it declares a schema of its result and gave no structured content".to_owned()]
            }
            Some(value) => match self
                .result_schema()
                .map(|s| s.check(value, Words::Stranger))
            {
                Some(Verdict::Fails(mistakes)) => mistakes,
                Some(Verdict::TooMuch) => {
                    debug!(tool = path, "this result takes too long to validate");
                    return Ok(());
                }
                Some(Verdict::Fits) | None => return Ok(()),
            },
        };
        let message = format!(
            "the result of {path} is not as it declares: {}",
            mistakes.join("; ")
        );
        if self.results.mismatch.set(message.clone()).is_ok() {
            warn!(tool = path, "{message}");
        }
        if check == ResultCheck::Warn {
            return Ok(());
        }
        let hint = format!(
            "it is the server's mistake; the call has happened. `mux.call.raw` gives the whole result, and \
             check_results = \"warn\" in [servers.{}] lets such results pass",
            self.server
        );
        let mut fault = Fault::new(Kind::Validation, message).hint(hint).path(path);
        fault.details = Some(json!({ "mistakes": mistakes }).to_string());
        Err(fault)
    }

    fn result_schema(&self) -> Option<&Schema> {
        let compile = || {
            let compiled = Schema::compile(&self.output_schema()?);
            let compiled = compiled.inspect_err(|error| {
                warn!(tool = self.path(), %error, "the output schema cannot be compiled; results are not validated");
            });
            compiled.ok()
        };
        self.results.schema.get_or_init(compile).as_ref()
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
    let structured = result.get("structuredContent");
    let details = match structured {
        // Of an API: its status and what it said are what a program looks at.
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
    use crate::catalog::{ToolDescription, ToolSet};

    use super::*;

    fn value(output_schema: Option<Value>, result: Value) -> Result<Value, Fault> {
        checked(output_schema, result, ResultCheck::Error)
    }

    fn checked(
        output_schema: Option<Value>,
        result: Value,
        check: ResultCheck,
    ) -> Result<Value, Fault> {
        let described = ToolDescription {
            name: "t".into(),
            input_schema: json!({}),
            output_schema,
            ..ToolDescription::default()
        };
        let set = ToolSet::new("s", vec![described], &[]);
        value_of(set.find("t").unwrap(), result, check)
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

    #[test]
    fn a_result_keeps_to_its_schema_or_is_an_error_that_holds_none_of_it() {
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
                Err("gave no structured content"),
            ),
            (structured(json!({ "n": 1 })), Ok(json!({ "n": 1 }))),
        ] {
            let outcome = value(Some(schema.clone()), result.clone());
            match expected {
                Ok(expected) => assert_eq!(outcome.unwrap(), expected),
                Err(part) => {
                    let fault = outcome.unwrap_err();
                    assert_eq!(fault.kind, Kind::Validation);
                    assert!(fault.message.contains(part), "{}", fault.message);
                    assert!(!fault.details.unwrap().contains("secret"));
                    assert_eq!(fault.path.as_deref(), Some("s.t"));
                    for lenient in [ResultCheck::Warn, ResultCheck::Off] {
                        assert!(checked(Some(schema.clone()), result.clone(), lenient).is_ok());
                    }
                }
            }
        }
        let any = |schema: Value, value: Value| {
            checked(Some(schema), structured(value), ResultCheck::Error)
        };
        assert_eq!(
            any(json!({ "type": "array" }), json!([1])).unwrap(),
            json!([1])
        );
        assert_eq!(
            any(json!({ "type": "nonsense" }), json!([1])).unwrap(),
            json!([1])
        );
        assert!(any(json!({ "prefixItems": [{ "const": 2 }] }), json!([1])).is_err());
    }
}
