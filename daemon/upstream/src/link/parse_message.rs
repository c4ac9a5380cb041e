//! Parses a server's messages: checks their weight first, and parses long ones on a blocking thread.
//!
//! Invariant: the result does not depend on where the text is parsed. A request whose answer cannot be parsed gets an
//! error.

use rmcp::{
    RoleClient,
    model::{ErrorData, JsonRpcMessage, RequestId},
    service::RxJsonRpcMessage,
};
use serde::{Deserialize, de::IgnoredAny};
use tracing::debug;

use super::raw_message;
use mux_process::{blocking_pool, malloc_trim};
use mux_text::json_weight::{self, MAX_JSON_WEIGHT, MIN_OFFLOAD_BYTES};

/// Parsing a message of this length frees enough memory to return some to the system.
const LARGE_MESSAGE_BYTES: usize = 1 << 20;

/// Parses a message. An unreadable answer becomes an error; `None` for other text that is not a message.
pub(super) fn parse_incoming(text: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    if let Err(why) = check_json_weight(text) {
        debug!(why, "message rejected");
        return unreadable_answer(text, &why);
    }
    match raw_message::parse_line(text) {
        Ok(message) => Some(message),
        Err(error) => {
            debug!(%error, "not a JSON-RPC message");
            unreadable_answer(text, &error.to_string())
        }
    }
}

/// Checks that the text is not too heavy to parse; the error is a sentence.
pub(super) fn check_json_weight(text: &[u8]) -> Result<(), String> {
    if text.len() > LARGE_MESSAGE_BYTES {
        malloc_trim::give_back_soon();
    }
    // That many values do not fit into less.
    match text.len() <= MIN_OFFLOAD_BYTES || json_weight::of(text, MAX_JSON_WEIGHT).is_some() {
        true => Ok(()),
        false => Err(format!(
            "it holds more than {MAX_JSON_WEIGHT} JSON values, {}; ask for less, such as a smaller page, a range or fewer fields",
            json_weight::WEIGHT_RULE_TEXT
        )),
    }
}

/// Runs [`parse_incoming`], for a long text on a blocking thread. Not cancel-safe.
pub(super) async fn parse_incoming_off_thread(
    text: String,
) -> Option<RxJsonRpcMessage<RoleClient>> {
    let is_long = text.len() > MIN_OFFLOAD_BYTES;
    blocking_pool::run_if(is_long, move || parse_incoming(text.as_bytes())).await
}

/// The error in place of an answer that cannot be parsed; without it the caller would wait forever.
pub(super) fn unreadable_answer(text: &[u8], why: &str) -> Option<RxJsonRpcMessage<RoleClient>> {
    #[derive(Deserialize)]
    struct AnswerHead {
        id: RequestId,
        method: Option<IgnoredAny>,
    }
    // Ignored values may nest to any depth.
    let answer: AnswerHead = serde_json::from_slice(text).ok()?;
    if answer.method.is_some() {
        return None;
    }
    let error = ErrorData::parse_error(format!("the server's answer cannot be read: {why}"), None);
    Some(JsonRpcMessage::error(error, Some(answer.id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_with_too_many_values_becomes_an_error_with_its_id() {
        let objects = format!("[{}{{}}]", "{},".repeat(MAX_JSON_WEIGHT / 4));
        let answer =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"content\":{objects}}}}}");
        let Some(JsonRpcMessage::Error(refused)) = parse_incoming(answer.as_bytes()) else {
            panic!("it is refused");
        };
        assert_eq!(refused.id, Some(RequestId::Number(7)));
        assert!(refused.error.message.contains("1000000"), "{refused:?}");
        // A notification has no waiter.
        let text =
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{{\"a\":{objects}}}}}");
        assert!(parse_incoming(text.as_bytes()).is_none());
    }
}
