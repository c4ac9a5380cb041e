//! Keeps a server's answers as JSON.
//!
//! rmcp parses an answer as the first of its types that fits and drops members that the type does not have: a tool's
//! `execution`, a field of an extension, a newer kind of content. Here an answer stays JSON, and its consumer parses
//! the parts that it needs.
//!
//! Invariant: nothing in an answer is lost between the text and its consumer.

use rmcp::{
    RoleClient,
    model::{CustomResult, InitializeResult, JsonRpcMessage, RequestId, ServerResult},
    service::RxJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::Value;

/// Part of every result in the modern era, and never of the requested content.
const SERVER_INFO_META_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Parses a message that is already JSON.
pub(super) fn parse_value(
    mut message: Value,
) -> Result<RxJsonRpcMessage<RoleClient>, serde_json::Error> {
    let result = message.get_mut("result").map(Value::take);
    match (result, message.get("id")) {
        (Some(result), Some(id)) => Ok(JsonRpcMessage::response(
            raw_result(result),
            RequestId::deserialize(id)?,
        )),
        _ => serde_json::from_value(message),
    }
}

/// Wraps a result as JSON, except for the answer to `initialize`, which rmcp parses itself.
pub(super) fn raw_result(result: Value) -> ServerResult {
    let greets = ["protocolVersion", "serverInfo", "capabilities"];
    if greets.iter().all(|name| result.get(name).is_some())
        && let Ok(greeting) = InitializeResult::deserialize(&result)
    {
        return ServerResult::InitializeResult(greeting);
    }
    ServerResult::CustomResult(CustomResult(result))
}

/// The result as JSON, as the server sent it.
pub(crate) fn result_to_value(result: ServerResult) -> Result<Value, serde_json::Error> {
    match result {
        ServerResult::CustomResult(CustomResult(value)) => Ok(value),
        result => serde_json::to_value(result),
    }
}

/// Removes the fields that the modern era adds to every result.
pub(crate) fn strip_modern_fields(mut result: Value) -> Value {
    let Some(object) = result.as_object_mut() else {
        return result;
    };
    if object
        .get("resultType")
        .is_some_and(|kind| kind == "complete")
    {
        object.shift_remove("resultType");
    }
    if let Some(meta) = object.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.shift_remove(SERVER_INFO_META_KEY);
        if meta.is_empty() {
            object.shift_remove("_meta");
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answer_keeps_unknown_fields() {
        let said = json!({
            "tools": [{ "name": "n", "inputSchema": {}, "execution": { "taskSupport": "required" } }],
            "resultType": "complete",
            "x/extension": [1],
            "_meta": { SERVER_INFO_META_KEY: { "name": "s", "version": "1" }, "a": 1 },
        });
        let message = json!({ "jsonrpc": "2.0", "id": 3, "result": said });
        let Ok(JsonRpcMessage::Response(answer)) = parse_value(message.clone()) else {
            panic!("{message} is an answer");
        };
        assert_eq!(answer.id, RequestId::Number(3));
        let read = result_to_value(answer.result).unwrap();
        assert_eq!(read, said);
        let bare = strip_modern_fields(read);
        assert_eq!(bare["_meta"], json!({ "a": 1 }));
        assert_eq!(
            (bare.get("resultType"), &bare["x/extension"]),
            (None, &json!([1]))
        );
    }

    #[test]
    fn initialize_result_is_parsed_by_rmcp_and_other_messages_keep_their_kind() {
        let server = json!({ "name": "s", "version": "0" });
        let greeting = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": server,
        });
        for (line, is_it) in [
            (json!({ "jsonrpc": "2.0", "id": 0, "result": greeting }), 0),
            (json!({ "jsonrpc": "2.0", "id": 0, "result": null }), 1),
            (json!({ "jsonrpc": "2.0", "id": 0, "method": "ping" }), 2),
            (
                json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": 1, "message": "m" } }),
                3,
            ),
        ] {
            let read = parse_value(line.clone()).unwrap();
            let found = match read {
                JsonRpcMessage::Response(answer) => match answer.result {
                    ServerResult::InitializeResult(_) => 0,
                    _ => 1,
                },
                JsonRpcMessage::Request(_) => 2,
                JsonRpcMessage::Error(_) => 3,
                JsonRpcMessage::Notification(_) => 4,
            };
            assert_eq!(found, is_it, "{line}");
        }
    }
}
