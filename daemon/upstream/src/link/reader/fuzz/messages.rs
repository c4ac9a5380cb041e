//! Messages of servers with changed values and damaged text: the repairs, and the guarantees for readers of the result.

use std::sync::Arc;

use mux_chance::{
    broken,
    damage::{damage_of, damaged},
    holds,
    json::{self, Change, change, changed},
};
use proptest::{collection::vec, prelude::*, sample::select};
use rmcp::model::{JsonRpcMessage, RequestId, ServerResult};
use serde_json::{Value, json};

use super::super::{
    MessageReader, Repairs, lenient_json,
    repair_value::{Position, repair_value},
    shapes::result_shape,
};
use crate::link::raw_message::result_to_value;

/// Results of each method, as sent by servers.
const RESULTS: &[(&str, &str)] = &[
    (
        "initialize",
        r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1","icons":[{"src":"a:b","sizes":["1x1"]}]},"instructions":"x","_meta":{"a":1}}"#,
    ),
    (
        "server/discover",
        r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"resultType":"complete"}"#,
    ),
    (
        "tools/list",
        r#"{"tools":[{"name":"a","title":"A","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"},"y":{"anyOf":[{"type":"null"},{"items":[]}]}},"required":["x"]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"title":"t"},"execution":{"taskSupport":"optional"},"_meta":{}},{"name":"b","inputSchema":{}}],"nextCursor":"c","ttlMs":1000}"#,
    ),
    (
        "tools/call",
        r#"{"content":[{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.5}},{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"resource","resource":{"uri":"a:b","text":"t"}},{"type":"resource_link","uri":"a:b","name":"n"}],"structuredContent":{"a":[1,{"b":null}]},"isError":false,"_meta":{"x":1}}"#,
    ),
    (
        "resources/list",
        r#"{"resources":[{"uri":"a:b","name":"n","title":"t","mimeType":"text/plain","size":5}],"nextCursor":null}"#,
    ),
    (
        "resources/templates/list",
        r#"{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}]}"#,
    ),
    (
        "resources/read",
        r#"{"contents":[{"uri":"a:b","text":"t","mimeType":"text/plain"},{"uri":"a:c","blob":"aGk="}]}"#,
    ),
    (
        "prompts/list",
        r#"{"prompts":[{"name":"p","arguments":[{"name":"a","required":true,"description":"d"}]}]}"#,
    ),
    (
        "prompts/get",
        r#"{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"t"}}]}"#,
    ),
    (
        "completion/complete",
        r#"{"completion":{"values":["a","b"],"total":2,"hasMore":false}}"#,
    ),
    ("ping", "{}"),
];
const WORDS: &[&str] = &[
    "tools",
    "name",
    "inputSchema",
    "outputSchema",
    "content",
    "type",
    "text",
    "image",
    "audio",
    "resource",
    "resource_link",
    "isError",
    "structuredContent",
    "annotations",
    "readOnlyHint",
    "_meta",
    "nextCursor",
    "resultType",
    "complete",
    "inputRequired",
    "task",
    "contents",
    "uri",
    "blob",
    "messages",
    "role",
    "user",
    "assistant",
    "arguments",
    "required",
    "capabilities",
    "protocolVersion",
    "serverInfo",
    "version",
    "properties",
    "items",
    "$defs",
    "true",
    "False",
    "1",
    "1.5",
    "",
    "0",
    "2",
    "toolResult",
    "x",
    "icons",
    "priority",
    "size",
    "values",
    "completion",
    "anyOf",
];
const TOKENS: &[&str] = &[
    "NaN",
    "-Infinity",
    "1e999",
    "\\ud83d",
    "\\ude00",
    "\u{feff}",
    "\0",
    "\n",
    "\t",
    "null",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "'",
    "//",
    "9223372036854775808123",
    "-0",
    "tru",
    "\"id\":7",
    "\"result\":null",
    "\"error\":{}",
];

fn reader_after(method: &str) -> MessageReader {
    let reader = MessageReader::new(Arc::default());
    let params = match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" },
        }),
        "tools/call" => json!({ "name": "t" }),
        "resources/read" => json!({ "uri": "a:b" }),
        "prompts/get" => json!({ "name": "p" }),
        "completion/complete" => {
            json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } })
        }
        _ => json!({}),
    };
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    reader.note_sent(&serde_json::from_value(request).unwrap());
    reader
}

/// Asserts the properties on which readers of a usable result rely. Everything else is passed to programs unchanged.
fn is_usable_result(method: &str, result: &ServerResult) -> Result<(), TestCaseError> {
    let value = result_to_value(result.clone()).unwrap();
    match method {
        "initialize" => {
            let is_greeting = matches!(result, ServerResult::InitializeResult(_));
            prop_assert!(is_greeting, "no greeting: {value}");
        }
        "tools/list" => {
            let tools = value["tools"].as_array();
            for tool in tools.ok_or_else(|| broken(format!("no list: {value}")))? {
                let has_name = tool["name"].as_str().is_some_and(|name| !name.is_empty());
                prop_assert!(has_name && tool["inputSchema"].is_object(), "{tool}");
            }
        }
        _ => {}
    }
    Ok(())
}

#[test]
fn fuzz_repaired_result_fits_and_needs_no_further_repair() {
    let values = (select(RESULTS), vec(change(WORDS), 0..5));
    holds(
        "messages_repaired",
        800,
        values,
        |((method, result), changes)| {
            let changes: Vec<Change> = changes;
            let result: Value = serde_json::from_str(result).unwrap();
            let result = changed(result, &changes);
            let text = json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string();
            let read = reader_after(method).read(text.as_bytes(), None);
            let [message] = read.messages.as_slice() else {
                return Err(broken(format!("{} messages", read.messages.len())));
            };
            let answer = match message {
                JsonRpcMessage::Response(answer) => answer,
                // Deeper than any parser reads.
                JsonRpcMessage::Error(_) => return Ok(()),
                other => return Err(broken(format!("{other:?} is no answer"))),
            };
            prop_assert_eq!(&answer.id, &RequestId::Number(7));
            let repaired = result_to_value(answer.result.clone()).unwrap();
            let kind = result.get("resultType").and_then(Value::as_str);
            if kind.is_some_and(|kind| kind != "complete")
                || result.get("task").is_some_and(Value::is_object)
            {
                prop_assert_eq!(
                    repaired,
                    result,
                    "another kind of result is passed on as it is"
                );
                return Ok(());
            }
            let Some(shape) = result_shape(method) else {
                return Ok(());
            };
            let repairs = Repairs::default();
            let mut again = repaired.clone();
            let is_usable = repair_value(&mut again, shape, Position::in_message(method), &repairs);
            if is_usable {
                is_usable_result(method, &answer.result)?;
            }
            prop_assert_eq!(&again, &repaired, "a second repair");
            prop_assert_eq!(repairs.remark(), None, "{}", repaired);
            Ok(())
        },
    );
}

#[test]
fn fuzz_open_request_gets_at_most_one_answer_and_no_answer_is_lost() {
    let message = |result: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{result}}}");
    let values = (select(RESULTS), vec(damage_of(TOKENS), 0..4), any::<bool>());
    holds(
        "messages",
        1000,
        values,
        |((method, result), damages, is_known)| {
            let bytes = damaged(message(result), &damages);
            let reader = reader_after(method);
            let id = RequestId::Number(7);
            let read = reader.read(&bytes, is_known.then_some(&id));
            let answers = read.messages.iter().filter(|message| {
                matches!(
                    message,
                    JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
                )
            });
            let answers = answers.count();
            prop_assert!(answers <= 1, "{answers} answers");
            prop_assert!(read.messages.is_empty() || read.is_message);
            let adopted = read
                .foreign_answer
                .and_then(|answer| reader.adopt_answer(answer, &id));
            prop_assert!(answers == 0 || adopted.is_none(), "a second answer");
            // An answer that JSON parsers read without repairs.
            if let Ok(value) = serde_json::from_slice::<Value>(&bytes)
                && value["id"] == 7
                && value.get("result").is_some()
                && value.get("method").is_none()
            {
                prop_assert_eq!(answers, 1, "{}", value);
            }
            Ok(())
        },
    );
}

#[test]
fn fuzz_valid_json_is_not_repaired_and_repaired_json_is_valid() {
    let text = prop_oneof![
        json::strange().prop_map(|value| value.to_string().into_bytes()),
        (select(RESULTS), vec(damage_of(TOKENS), 0..4))
            .prop_map(|((_, text), damages)| damaged(text, &damages)),
        vec(select(TOKENS), 0..20).prop_map(|tokens| tokens.concat().into_bytes()),
        vec(any::<u8>(), 0..60),
    ];
    holds("messages_json", 2000, text, |text| {
        let mut repairs = Vec::new();
        let read = lenient_json::parse(&text, |repair| repairs.push(repair));
        match (serde_json::from_slice::<Value>(&text), read) {
            (Ok(strict), read) => {
                prop_assert_eq!(read.ok(), Some(strict));
                prop_assert!(repairs.is_empty(), "{repairs:?}");
            }
            (Err(_), Ok(value)) => {
                prop_assert!(!repairs.is_empty(), "{value} without a repair");
                let again = serde_json::from_str::<Value>(&value.to_string());
                prop_assert_eq!(again.ok(), Some(value));
            }
            (Err(_), Err(error)) => prop_assert!(!error.to_string().is_empty()),
        }
        Ok(())
    });
}
