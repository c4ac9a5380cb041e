//! The valid messages of a server, in each revision of MCP that has `initialize`.

use serde_json::{Value, json};

use crate::dice::Dice;

pub(super) const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The message of a server's own error, which a client should repeat.
pub(super) const QUOTA: &str = "the quota of this account is used up";

/// A valid answer to a request. `$id` and `$version` stand for the request's id and the revision.
pub(super) fn answer(method: &str, revision: &str) -> Value {
    match method {
        "initialize" => result(initialize(revision)),
        "tools/list" => result(json!({ "tools": tools(revision) })),
        "tools/call" => result(call_results(revision).swap_remove(0)),
        "resources/list" => result(json!({ "resources": [
            { "uri": "memo://today", "name": "today", "description": "A memo.", "mimeType": "text/plain" },
        ] })),
        "resources/templates/list" => result(json!({ "resourceTemplates": [
            { "uriTemplate": "memo://{day}", "name": "day" },
        ] })),
        "prompts/list" => result(json!({ "prompts": [
            { "name": "greet", "description": "A greeting.", "arguments": [{ "name": "who", "required": true }] },
        ] })),
        "ping" => result(json!({})),
        _ => error(-32601, "Method not found"),
    }
}

/// Valid results of `tools/call`, one of each kind.
pub(super) fn call_results(revision: &str) -> Vec<Value> {
    let text = json!({ "type": "text", "text": "hi" });
    let mut results = vec![
        json!({ "content": [text], "isError": false }),
        json!({ "content": [text] }),
        json!({ "content": [text, { "type": "text", "text": "there" }], "_meta": { "example.com/took": 3 } }),
        json!({ "content": [text], "isError": true }),
        json!({ "content": [] }),
        json!({ "content": [text, { "type": "image", "data": "aGk=", "mimeType": "image/png" }] }),
        json!({ "content": [
            { "type": "resource", "resource": { "uri": "memo://today", "mimeType": "text/plain", "text": "a memo" } },
            text,
        ] }),
        json!({ "content": [
            { "type": "text", "text": "hi", "annotations": { "audience": ["user"], "priority": 0.5 } },
        ] }),
    ];
    if revision >= "2025-03-26" {
        results.push(
            json!({ "content": [text, { "type": "audio", "data": "aGk=", "mimeType": "audio/wav" }] }),
        );
    }
    if revision >= "2025-06-18" {
        let structured =
            json!({ "text": "hi", "count": 1, "ratio": 0.5, "tags": ["a", "b"], "none": null });
        results.push(json!({ "content": [text], "structuredContent": structured }));
        results
            .push(json!({ "content": [text], "structuredContent": structured, "isError": false }));
        results.push(json!({ "content": [
            text,
            { "type": "resource_link", "uri": "memo://today", "name": "today", "mimeType": "text/plain" },
        ] }));
    }
    results
}

/// A notification or a request that a server may send while a request is open.
pub(super) fn unasked(dice: &mut Dice) -> (&'static str, Value) {
    let notification = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
    let request = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": "s1", "method": method, "params": params });
    let all = [
        (
            "message",
            notification(
                "notifications/message",
                json!({ "level": "info", "logger": "a", "data": { "a": 1 } }),
            ),
        ),
        (
            "progress",
            notification(
                "notifications/progress",
                json!({ "progressToken": 999, "progress": 1, "total": 2 }),
            ),
        ),
        (
            "list-changed",
            notification("notifications/tools/list_changed", json!({})),
        ),
        (
            "bare-list-changed",
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }),
        ),
        (
            "updated",
            notification(
                "notifications/resources/updated",
                json!({ "uri": "memo://today" }),
            ),
        ),
        (
            "cancelled",
            notification(
                "notifications/cancelled",
                json!({ "requestId": 999, "reason": "none" }),
            ),
        ),
        (
            "unknown",
            notification("notifications/example/unknown", json!({ "a": [] })),
        ),
        ("ping", request("ping", json!({}))),
        ("roots", request("roots/list", json!({}))),
        (
            "unknown-request",
            request("example/unknown", json!({ "a": [] })),
        ),
        (
            "stray-answer",
            json!({ "jsonrpc": "2.0", "id": 9999, "result": {} }),
        ),
    ];
    dice.pick(&all).clone()
}

/// An error answer.
pub(super) fn error(code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": "$id", "error": { "code": code, "message": message } })
}

fn result(result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "$id", "result": result })
}

fn initialize(revision: &str) -> Value {
    let mut info = json!({ "name": "scripted", "version": "1.0" });
    if revision >= "2025-06-18" {
        info["title"] = json!("Scripted");
    }
    if revision >= "2025-11-25" {
        info["icons"] = json!([{ "src": "https://example.com/a.png", "mimeType": "image/png", "sizes": ["48x48"] }]);
        info["websiteUrl"] = json!("https://example.com/");
    }
    let capabilities = json!({
        "tools": { "listChanged": true },
        "resources": { "subscribe": false, "listChanged": false },
        "prompts": {},
        "logging": {},
        "experimental": { "example": {} },
    });
    json!({
        "protocolVersion": "$version",
        "capabilities": capabilities,
        "serverInfo": info,
        "instructions": "Echoes.",
    })
}

fn tools(revision: &str) -> Value {
    let mut echo = json!({
        "name": "echo",
        "description": "Repeats a text.",
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
    });
    if revision >= "2025-03-26" {
        echo["annotations"] =
            json!({ "title": "Echo", "readOnlyHint": true, "openWorldHint": false });
    }
    if revision >= "2025-06-18" {
        echo["title"] = json!("Echo");
        echo["_meta"] = json!({ "example.com/weight": 1 });
    }
    if revision >= "2025-11-25" {
        echo["icons"] = json!([{ "src": "https://example.com/a.png" }]);
        echo["execution"] = json!({ "taskSupport": "forbidden" });
    }
    let mut last = json!({
        "name": "last",
        "description": "",
        "inputSchema": { "type": "object", "properties": {} },
    });
    if revision >= "2025-06-18" {
        last["outputSchema"] =
            json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    }
    json!([{ "name": "first", "inputSchema": { "type": "object" } }, echo, last])
}
