//! Messages as real servers write them, each with its expected reading.

use rmcp::model::{ServerNotification, ServerResult};
use serde_json::json;

use super::*;
use crate::link::raw_message::result_to_value;

/// A reader with one open request, whose id is 7.
fn reader_after(method: &str) -> MessageReader {
    let reader = MessageReader::new(Arc::default());
    let params = match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" },
        }),
        "tools/call" => json!({ "name": "t" }),
        "resources/read" => json!({ "uri": "a:b" }),
        "prompts/get" => json!({ "name": "p" }),
        _ => json!({}),
    };
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    reader.note_sent(&serde_json::from_value(request).unwrap());
    reader
}

fn read_one(reader: &MessageReader, text: &str) -> IncomingMessage {
    let mut messages = reader.read(text.as_bytes(), None).messages;
    assert_eq!(messages.len(), 1, "{text}");
    messages.remove(0)
}

/// The result read from an answer to the method.
#[track_caller]
fn result_of(method: &str, result: &Value) -> Value {
    let text = json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string();
    match read_one(&reader_after(method), &text) {
        JsonRpcMessage::Response(answer) => result_to_value(answer.result).unwrap(),
        other => panic!("{text} is read as {other:?}"),
    }
}

#[track_caller]
fn error_of(text: &str) -> ErrorData {
    match read_one(&reader_after("tools/call"), text) {
        JsonRpcMessage::Error(answer) => {
            assert_eq!(answer.id, Some(RequestId::Number(7)), "{text}");
            answer.error
        }
        other => panic!("{text} is read as {other:?}"),
    }
}

#[test]
fn handshakes_with_missing_and_odd_members_are_read() {
    let server = json!({ "name": "s", "version": "1" });
    for result in [
        json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": server }),
        json!({ "capabilities": { "tools": {} }, "serverInfo": server }),
        json!({ "protocolVersion": "2025-06-18", "capabilities": [] }),
        json!({ "protocolVersion": null, "capabilities": null, "serverInfo": null }),
        json!({ "capabilities": { "tools": [], "logging": true, "experimental": [], "prompts": null } }),
        json!({ "capabilities": { "tools": { "listChanged": "true" }, "extensions": { "x": 1 } } }),
        json!({ "serverInfo": { "name": "s", "icons": [{ "src": 1 }, "x", null], "version": 3 }, "instructions": ["x"] }),
        json!({ "serverInfo": "s", "_meta": [] }),
        json!({}),
        json!(null),
        json!([]),
    ] {
        let text = json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string();
        let JsonRpcMessage::Response(answer) = read_one(&reader_after("initialize"), &text) else {
            panic!("{text} is an answer");
        };
        assert!(
            matches!(answer.result, ServerResult::InitializeResult(_)),
            "{text}: {:?}",
            answer.result
        );
    }
    for text in [
        r#"{"jsonrpc":"2.0","id":"","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
    ] {
        let read = read_one(&reader_after("initialize"), text);
        assert!(matches!(read, JsonRpcMessage::Response(_)), "{text}");
    }
    let read = result_of("initialize", &json!({ "capabilities": {} }));
    assert_eq!(read["protocolVersion"], "2025-11-25");
}

#[test]
fn one_bad_tool_is_left_out_and_named() {
    let reader = reader_after("tools/list");
    let tools = json!([
        { "name": "good", "inputSchema": { "type": "object" }, "execution": { "taskSupport": "optional" } },
        { "description": "no name" },
        "text",
        { "name": "plain" },
        { "name": "nulls", "title": null, "inputSchema": null, "outputSchema": null, "annotations": null },
        { "name": "php", "inputSchema": { "type": "object", "properties": [] }, "annotations": [], "_meta": [] },
        {
            "name": "hints", "inputSchema": true, "description": 5,
            "annotations": { "readOnlyHint": "true", "destructiveHint": 0, "openWorldHint": "maybe" },
        },
        { "name": "", "inputSchema": {} },
    ]);
    let text = json!({ "jsonrpc": "2.0", "id": 7, "result": { "tools": tools } }).to_string();
    let JsonRpcMessage::Response(answer) = read_one(&reader, &text) else {
        panic!("{text} is an answer");
    };
    let read = result_to_value(answer.result).unwrap();
    let object = json!({ "type": "object" });
    assert_eq!(
        read["tools"],
        json!([
            { "name": "good", "inputSchema": object, "execution": { "taskSupport": "optional" } },
            { "name": "plain", "inputSchema": object },
            { "name": "nulls", "inputSchema": object },
            { "name": "php", "inputSchema": { "type": "object", "properties": {} }, "annotations": {}, "_meta": {} },
            {
                "name": "hints", "inputSchema": {}, "description": "5",
                "annotations": { "readOnlyHint": true, "destructiveHint": false },
            },
        ])
    );
    let left_out = reader.repairs.left_out_warning().unwrap();
    for position in [
        "tools[1]: no usable `name`",
        "tools[2]: not an object",
        "tools[7]",
    ] {
        assert!(left_out.contains(position), "{left_out}");
    }
    let remark = reader.repairs.remark().unwrap();
    assert!(
        remark.contains("first in tools/list: tools[4] (nulls).title"),
        "{remark}"
    );
}

#[test]
fn lists_of_other_languages_are_lists() {
    for (result, expected) in [
        (json!({ "tools": null }), json!([])),
        (json!({ "tools": {} }), json!([])),
        (json!({}), json!([])),
        (
            json!({ "tools": { "0": { "name": "a", "inputSchema": {} }, "2": { "name": "b", "inputSchema": {} } } }),
            json!([{ "name": "a", "inputSchema": {} }, { "name": "b", "inputSchema": {} }]),
        ),
    ] {
        assert_eq!(
            result_of("tools/list", &result)["tools"],
            expected,
            "{result}"
        );
    }
    let read = result_of(
        "tools/list",
        &json!({ "tools": [], "nextCursor": 2, "_meta": null }),
    );
    assert_eq!(read, json!({ "tools": [], "nextCursor": "2" }));
    for (method, name) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert_eq!(
            result_of(method, &json!({ name: [null, {}] }))[name],
            json!([])
        );
    }
    let prompts = json!({ "prompts": [{ "name": "p", "arguments": [{ "name": "a", "required": "yes" }, {}] }] });
    assert_eq!(
        result_of("prompts/list", &prompts)["prompts"][0]["arguments"],
        json!([{ "name": "a", "required": true }])
    );
}

#[test]
fn tool_results_without_content_are_results() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    for (result, expected) in [
        (json!({}), json!({ "content": [] })),
        (json!(null), json!({ "content": [] })),
        (json!("hi"), json!({ "content": [text("hi")] })),
        (json!(3), json!({ "content": [text("3")] })),
        (json!([text("a")]), json!({ "content": [text("a")] })),
        (
            json!({ "content": "hi" }),
            json!({ "content": [text("hi")] }),
        ),
        (
            json!({ "content": text("hi") }),
            json!({ "content": [text("hi")] }),
        ),
        (
            json!({ "content": ["a", null] }),
            json!({ "content": [text("a")] }),
        ),
        (
            json!({ "content": [{ "text": "a" }] }),
            json!({ "content": [{ "text": "a", "type": "text" }] }),
        ),
        (
            json!({ "content": [{ "type": "text", "text": 5 }, { "type": "text", "_meta": [] }] }),
            json!({ "content": [text("5"), { "type": "text", "text": "" }] }),
        ),
        (
            json!({ "content": null, "structuredContent": { "n": 1 } }),
            json!({ "content": [], "structuredContent": { "n": 1 } }),
        ),
        (
            json!({ "content": {}, "structuredContent": null, "isError": "true" }),
            json!({ "content": [], "isError": true }),
        ),
        (
            json!({ "toolResult": { "a": 1 } }),
            json!({ "content": [text("{\"a\":1}")] }),
        ),
        (
            json!({ "content": [{ "type": "newer", "x": 1 }], "extra": [1] }),
            json!({ "content": [{ "type": "newer", "x": 1 }], "extra": [1] }),
        ),
    ] {
        let read = result_of("tools/call", &result);
        assert_eq!(read, expected, "{result}");
    }
}

#[test]
fn answers_and_errors_with_odd_envelopes_end_their_request() {
    for text in [
        r#"{"id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#,
        r#"{"jsonrpc":2.0,"id":7,"result":{},"error":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{},"error":[]}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#,
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\0",
    ] {
        let JsonRpcMessage::Response(answer) = read_one(&reader_after("tools/call"), text) else {
            panic!("{text} is an answer");
        };
        assert_eq!(answer.id, RequestId::Number(7), "{text}");
    }
    for (text, code, message) in [
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-3,"message":"no"}}"#,
            -3,
            "no",
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-3,"message":"no"}}"#,
            -3,
            "no",
        ),
        (r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#, -32603, "no"),
        (
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":"-3","message":"no"}}"#,
            -3,
            "no",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-3.0,"message":"no","data":null}}"#,
            -3,
            "no",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"error":{"message":"no"}}"#,
            -32603,
            "no",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-3}}"#,
            -3,
            "{\"code\":-3}",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":null,"error":{"code":9e9,"message":"no"}}"#,
            -32603,
            "no",
        ),
    ] {
        let error = error_of(text);
        assert_eq!((error.code.0, &*error.message), (code, message), "{text}");
    }
}

#[test]
fn answers_that_cannot_be_read_end_their_request_in_words() {
    let nested = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let text = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":{nested}}}}}"#);
    let message = error_of(&text).message;
    let said = "the server's answer cannot be read: it nests more than 127 levels deep";
    assert!(message.starts_with(said), "{message}");
}

#[test]
fn result_with_another_id_counts_only_where_no_other_comes() {
    let id = RequestId::Number(7);
    for text in [
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":[1],"result":{}}"#,
    ] {
        let reader = reader_after("tools/call");
        for answered in [None, Some(&id)] {
            let read = reader.read(text.as_bytes(), answered);
            assert!(read.is_message && read.messages.is_empty(), "{text}");
            assert!(read.foreign_answer.is_some(), "{text}");
        }
        let foreign = reader.read(text.as_bytes(), Some(&id)).foreign_answer;
        let adopted = reader.adopt_answer(foreign.unwrap(), &id).unwrap();
        let JsonRpcMessage::Response(answer) = adopted else {
            panic!("{text} is an answer");
        };
        assert_eq!(answer.id, id);
    }
    let neither = r#"{"jsonrpc":"2.0","id":7}"#;
    assert!(
        error_of(neither)
            .message
            .contains("neither a result nor an error")
    );
}

#[test]
fn other_output_is_no_message_and_ends_nothing() {
    let reader = reader_after("tools/call");
    for text in [
        "hello",
        "",
        "{\"level\":30,\"msg\":\"started\"}",
        "{\"method\":\"log\",\"params\":1}",
        "{\"half\": ",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{,}}",
        "[1, 2]",
        "{}",
        "42",
    ] {
        let read = reader.read(text.as_bytes(), None);
        assert!(!read.is_message && read.messages.is_empty(), "{text}");
    }
    assert_eq!(reader.open.lock().len(), 1);
}

#[test]
fn answer_without_id_ends_nothing_while_several_requests_are_open() {
    let reader = reader_after("tools/call");
    let second = json!({ "jsonrpc": "2.0", "id": 8, "method": "ping" });
    reader.note_sent(&serde_json::from_value(second).unwrap());
    let stray = br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}"#;
    let read = reader.read(stray, None);
    assert!(read.is_message && read.messages.is_empty());
    // A transport that knows the request passes it.
    let read = reader.read(stray, Some(&RequestId::Number(8)));
    assert_eq!(read.messages.len(), 1);
    let params = json!({ "requestId": 7 });
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    reader.note_sent(&serde_json::from_value(cancelled).unwrap());
    assert!(reader.open.lock().is_empty());
    // The answer to the cancelled request is for nobody.
    let late = reader.read(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#, None);
    assert!(late.is_message && late.messages.is_empty());
}

#[test]
fn notifications_with_odd_parameters_keep_their_kind() {
    let reader = reader_after("tools/call");
    for (text, is_kind) in [
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"notifications/tools/list_changed","params":[]}"#,
            (|it| matches!(it, ServerNotification::ToolListChangedNotification(_)))
                as fn(&ServerNotification) -> bool,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"WARN","data":null}}"#,
            |it| matches!(it, ServerNotification::LoggingMessageNotification(_)),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":"0.5","total":null}}"#,
            |it| matches!(it, ServerNotification::ProgressNotification(_)),
        ),
    ] {
        let JsonRpcMessage::Notification(read) = read_one(&reader, text) else {
            panic!("{text} is a notification");
        };
        assert!(is_kind(&read.notification), "{text}: {read:?}");
    }
}

#[test]
fn message_that_fits_is_not_changed_and_needs_no_repair() {
    let reader = reader_after("tools/list");
    let tool = json!({
        "name": "n", "title": "T", "description": "D", "inputSchema": { "type": "object", "properties": {} },
        "annotations": { "readOnlyHint": true }, "icons": [{ "src": "a", "sizes": ["any"] }], "x": null,
    });
    let result = json!({ "tools": [tool], "nextCursor": "c", "ttlMs": 5 });
    let text = json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string();
    let JsonRpcMessage::Response(answer) = read_one(&reader, &text) else {
        panic!("{text} is an answer");
    };
    assert_eq!(result_to_value(answer.result).unwrap(), result);
    assert_eq!(reader.repairs.remark(), None);
    assert_eq!(reader.repairs.left_out_warning(), None);
}

#[test]
fn messages_with_null_results_keep_their_kind() {
    let reader = reader_after("initialize");
    let text =
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null,"result":null,"error":null}"#;
    assert!(matches!(
        read_one(&reader, text),
        JsonRpcMessage::Request(_)
    ));
    let text = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1},"result":null}"#;
    assert!(matches!(
        read_one(&reader, text),
        JsonRpcMessage::Notification(_)
    ));
    assert_eq!(reader.open.lock().len(), 1);
}

#[test]
fn results_of_other_kinds_are_no_deviation() {
    for result in [
        json!({ "resultType": "input_required", "inputRequests": {} }),
        json!({ "resultType": "task", "taskId": "t" }),
        json!({ "task": { "taskId": "t" } }),
    ] {
        let reader = reader_after("tools/call");
        let text = json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string();
        let JsonRpcMessage::Response(answer) = read_one(&reader, &text) else {
            panic!("{text} is an answer");
        };
        assert_eq!(result_to_value(answer.result).unwrap(), result);
        assert_eq!(reader.repairs.remark(), None);
    }
}

#[test]
fn schemas_of_other_languages_are_schemas() {
    let schema = json!({
        "type": "object", "properties": { "a": [], "b": { "items": {} } }, "required": null,
        "additionalProperties": [], "not": [], "anyOf": [], "enum": [], "default": [],
    });
    let read = result_of(
        "tools/list",
        &json!({ "tools": [{ "name": "a", "inputSchema": schema }] }),
    );
    assert_eq!(
        read["tools"][0]["inputSchema"],
        json!({
            "type": "object", "properties": { "a": {}, "b": { "items": {} } },
            "additionalProperties": {}, "not": {}, "anyOf": [], "enum": [], "default": [],
        })
    );
}

#[test]
fn log_lines_with_odd_numbers_are_no_deviation() {
    let reader = reader_after("tools/call");
    for text in [&b"temperature: NaN"[..], b"{\"level\": NaN}", b"caf\xe9"] {
        assert!(!reader.read(text, None).is_message);
    }
    assert_eq!(reader.repairs.remark(), None);
}
