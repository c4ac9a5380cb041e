//! The answers of a model: Anthropic messages, OpenAI responses and chat completions, Gemini.

use axum::{
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

/// Characters for each token, where an agent has its text counted.
const CHARS_PER_TOKEN: usize = 4;
/// The text with which the model ends its turn.
const DONE: &str = "done";

/// A call that the model makes.
#[derive(Clone, Debug)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) input: Value,
    /// Codex has separate items for the tool search.
    pub(super) is_search_item: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Messages,
    Responses,
    Completions,
    Gemini,
}

impl Dialect {
    /// The dialect of a request that generates text.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (path, _) = path.split_once('?').unwrap_or((path, ""));
        match path {
            _ if path.ends_with("/messages") => Some(Self::Messages),
            _ if path.ends_with("/responses") => Some(Self::Responses),
            _ if path.ends_with("/chat/completions") => Some(Self::Completions),
            _ if path.ends_with("enerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    /// The answer to the request with this number and path: a call, or the end of the turn.
    pub(super) fn answer(
        self,
        number: usize,
        path: &str,
        body: &Value,
        call: Option<&ToolCall>,
    ) -> Response {
        match self {
            Self::Messages => messages(number, body, call),
            Self::Responses => responses(number, body, call),
            Self::Completions => completions(number, body, call),
            Self::Gemini => gemini(path, call),
        }
    }
}

/// The answer to a request that generates no text.
pub(super) fn other_answer(path: &str, body_bytes: usize) -> Response {
    let tokens = body_bytes / CHARS_PER_TOKEN;
    let answer = match path {
        _ if path.contains("count_tokens") => json!({ "input_tokens": tokens }),
        _ if path.contains("countTokens") => json!({ "totalTokens": tokens }),
        _ if path.contains("models") => {
            json!({ "object": "list", "data": [{ "id": "test", "object": "model" }] })
        }
        _ => json!({}),
    };
    axum::Json(answer).into_response()
}

fn messages(number: usize, body: &Value, call: Option<&ToolCall>) -> Response {
    let block = match call {
        Some(call) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.input })
        }
        None => json!({ "type": "text", "text": DONE }),
    };
    let stop = if call.is_some() {
        "tool_use"
    } else {
        "end_turn"
    };
    let mut message = json!({
        "id": format!("msg_{number}"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": stop,
        "usage": { "input_tokens": 10, "output_tokens": 5 },
    });
    if body["stream"] != true {
        return axum::Json(message).into_response();
    }
    let mut begun = block.clone();
    let delta = if let Some(call) = call {
        begun["input"] = json!({});
        json!({ "type": "input_json_delta", "partial_json": call.input.to_string() })
    } else {
        begun["text"] = json!("");
        json!({ "type": "text_delta", "text": DONE })
    };
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": begun }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 5 } }),
        json!({ "type": "message_stop" }),
    ];
    typed_events(&events)
}

fn responses(number: usize, body: &Value, call: Option<&ToolCall>) -> Response {
    let item = match call {
        Some(call) if call.is_search_item => json!({
            "type": "tool_search_call",
            "call_id": call.id,
            "execution": "client",
            "status": "completed",
            "arguments": call.input,
        }),
        Some(call) => {
            let mut item = json!({
                "type": "function_call",
                "id": format!("fc_{number}"),
                "call_id": call.id,
                "name": call.name,
                "arguments": call.input.to_string(),
                "status": "completed",
            });
            if let Some(namespace) = &call.namespace {
                item["namespace"] = json!(namespace);
            }
            item
        }
        None => json!({
            "type": "message",
            "id": format!("m_{number}"),
            "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": DONE, "annotations": [] }],
        }),
    };
    let begun = json!({
        "id": format!("resp_{number}"),
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "model": body["model"],
        "output": [],
    });
    let mut ended = begun.clone();
    ended["status"] = json!("completed");
    ended["output"] = json!([item]);
    ended["usage"] = json!({
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens_details": { "reasoning_tokens": 0 },
    });
    typed_events(&[
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": ended }),
    ])
}

fn completions(number: usize, body: &Value, call: Option<&ToolCall>) -> Response {
    let (part, reason) = match call {
        Some(call) => {
            let function = json!({ "name": call.name, "arguments": call.input.to_string() });
            let call =
                json!({ "index": 0, "id": call.id, "type": "function", "function": function });
            (
                json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
                "tool_calls",
            )
        }
        None => (json!({ "role": "assistant", "content": DONE }), "stop"),
    };
    let answer = |object: &str, choice: Value| {
        json!({
            "id": format!("c{number}"),
            "object": object,
            "created": 1,
            "model": body["model"],
            "choices": [choice],
            "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
        })
    };
    if body["stream"] != true {
        let choice = json!({ "index": 0, "message": part, "finish_reason": reason });
        return axum::Json(answer("chat.completion", choice)).into_response();
    }
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        answer("chat.completion.chunk", choice).to_string()
    };
    events(&[
        chunk(part, Value::Null),
        chunk(json!({}), json!(reason)),
        "[DONE]".to_owned(),
    ])
}

fn gemini(path: &str, call: Option<&ToolCall>) -> Response {
    let part = match call {
        Some(call) => {
            json!({ "functionCall": { "id": call.id, "name": call.name, "args": call.input } })
        }
        None => json!({ "text": DONE }),
    };
    let answer = json!({
        "candidates": [{ "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 },
    });
    if path.contains("streamGenerateContent") {
        events(&[answer.to_string()])
    } else {
        axum::Json(answer).into_response()
    }
}

/// Server-sent events that are named after their `type`.
fn typed_events(all: &[Value]) -> Response {
    let lines = all.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    event_stream(lines.collect())
}

fn events(all: &[String]) -> Response {
    event_stream(all.iter().map(|data| format!("data: {data}\n\n")).collect())
}

fn event_stream(lines: String) -> Response {
    ([(CONTENT_TYPE, "text/event-stream")], lines).into_response()
}
