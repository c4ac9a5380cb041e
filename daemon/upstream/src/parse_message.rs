//! A message of a server, read from its text: weighed first, and beside the runtime's threads if it is long.
//!
//! Invariant: what becomes of a text does not depend on how long it is. Whoever asked for what cannot be read is
//! answered all the same.

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

/// Who read as much leaves something behind for the system.
const LARGE_MESSAGE_BYTES: usize = 1 << 20;

/// The message, or what stands for an answer that cannot be read. None of what is no message.
pub(super) fn parse_incoming(text: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    if let Err(why) = check_json_weight(text) {
        debug!(why, "a message that is not read");
        return unreadable_answer(text, &why);
    }
    match raw_message::parse_line(text) {
        Ok(message) => Some(message),
        Err(error) => {
            debug!(%error, "a text that is no JSON-RPC message");
            unreadable_answer(text, &error.to_string())
        }
    }
}

/// Whether it may be read, in words if not.
pub(super) fn check_json_weight(text: &[u8]) -> Result<(), String> {
    if text.len() > LARGE_MESSAGE_BYTES {
        malloc_trim::give_back_soon();
    }
    // As many values do not fit into less.
    match text.len() <= MIN_OFFLOAD_BYTES || json_weight::of(text, MAX_JSON_WEIGHT).is_some() {
        true => Ok(()),
        false => Err(format!(
            "it holds more than {MAX_JSON_WEIGHT} JSON values, {}; ask for less, such as a smaller page, a range or fewer fields",
            json_weight::WEIGHT_RULE_TEXT
        )),
    }
}

/// The same of a text that may be long. Not cancel-safe.
pub(super) async fn parse_incoming_off_thread(
    text: String,
) -> Option<RxJsonRpcMessage<RoleClient>> {
    match text.len() > MIN_OFFLOAD_BYTES {
        true => blocking_pool::run(move || parse_incoming(text.as_bytes())).await,
        false => parse_incoming(text.as_bytes()),
    }
}

/// What stands for an answer that cannot be read: without it the one who asked would wait for ever.
pub(super) fn unreadable_answer(text: &[u8], why: &str) -> Option<RxJsonRpcMessage<RoleClient>> {
    #[derive(Deserialize)]
    struct AnswerHead {
        id: RequestId,
        method: Option<IgnoredAny>,
    }
    // What is ignored may nest as deep as it likes.
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
    fn an_answer_of_too_many_values_is_refused_by_its_number() {
        let objects = format!("[{}{{}}]", "{},".repeat(MAX_JSON_WEIGHT / 4));
        let answer =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"content\":{objects}}}}}");
        let Some(JsonRpcMessage::Error(refused)) = parse_incoming(answer.as_bytes()) else {
            panic!("it is refused");
        };
        assert_eq!(refused.id, Some(RequestId::Number(7)));
        assert!(refused.error.message.contains("1000000"), "{refused:?}");
        // Nobody waits for what is no answer.
        let told =
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{{\"a\":{objects}}}}}");
        assert!(parse_incoming(told.as_bytes()).is_none());
    }
}
