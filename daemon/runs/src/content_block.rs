//! Validates a worker's messages: emitted content blocks and results.
//!
//! Invariant: accepted values are JSON within the depth limit, and a content block is an object with a `type`.

use std::borrow::Cow;

use mux_wire::{Fault, FaultKind};
use serde::{Deserialize, de::IgnoredAny};

use mux_handles::StoredValues;
use mux_messages::Held;
use mux_process::blocking_pool;
use mux_text::json_depth;

/// The one field that every MCP content block has.
#[derive(Deserialize)]
struct ContentBlock<'a> {
    #[serde(borrow, rename = "type")]
    _type: Cow<'a, str>,
}

/// Returns a fault unless `text` is a content block.
pub(super) fn check_content_block(text: &str) -> Result<(), Fault> {
    json_depth::check(text, "it")?;
    let part = if text.trim_start().starts_with('{') {
        serde_json::from_str::<ContentBlock<'_>>(text).map_err(|error| error.to_string())
    } else {
        Err("expected an object".to_owned())
    };
    part.map(drop).map_err(|error| {
        let message = format!("it is not a content block with a `type`: {error}");
        Fault::new(FaultKind::Validation, message)
    })
}

fn check_result_json(text: &str) -> Result<(), Fault> {
    json_depth::check(text, "the result")?;
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(Fault::new(
            FaultKind::Internal,
            format!("the worker sent a result that is not JSON: {error}"),
        )),
    }
}

/// Checks a long content block and stores it. The second value is a warning if it could not be stored.
pub(super) async fn store_content_block(
    text: String,
    handles: &StoredValues,
) -> Result<(Held, Option<String>), Fault> {
    let text = blocking_pool::run(move || check_content_block(&text).map(|()| text)).await?;
    handles.inline_or_keep(text, "it").await
}

/// Checks the result of a program and stores it if it is long. The second value is a warning if it could not be
/// stored.
pub(super) async fn store_result(
    text: String,
    handles: &StoredValues,
) -> Result<(Held, Option<String>), Fault> {
    let is_long = text.len() > handles.max_inline_bytes();
    let checked =
        blocking_pool::run_if(is_long, move || check_result_json(&text).map(|()| text)).await;
    let text = checked?;
    handles.inline_or_keep(text, "the result").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_content_blocks_pass() {
        for text in [
            r#"{"type":"image","data":"eA==","mimeType":"image/png"}"#,
            r#" {"a":[1,{}],"type":"any\u00e9"}"#,
        ] {
            check_content_block(text).unwrap();
        }
        let deep = format!(
            r#"{{"type":"x","a":{}{}}}"#,
            "[".repeat(100),
            "]".repeat(100)
        );
        let torn = format!(r#"{{"type":"x","a":{}"#, "[".repeat(99));
        for text in [
            "",
            "1",
            "null",
            r#""image""#,
            "[]",
            r#"["image"]"#,
            "{}",
            r#"{"type":1}"#,
            r#"{"type":null}"#,
            r#"{"type":"a","type":"b"}"#,
            r#"{"type":"a"} x"#,
            "{\"type\":\"a\0\"}",
            &deep,
            &torn,
        ] {
            assert!(check_content_block(text).is_err(), "{text}");
        }
    }

    #[test]
    fn result_must_be_json_within_depth_limit() {
        assert!(check_result_json("[1,null,\"x\"]").is_ok());
        assert_eq!(
            check_result_json("undefined").unwrap_err().kind,
            FaultKind::Internal
        );
        let deep = format!("{}{}", "[".repeat(101), "]".repeat(101));
        assert_eq!(check_result_json(&deep).unwrap_err().kind, FaultKind::Limit);
    }
}
