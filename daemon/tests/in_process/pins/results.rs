//! Structured content is checked against the output schema of its tool.

use mux_proto::{CallRequest, Kind};
use serde_json::{Value, json};

use super::PinnedServer;

fn answering(structured: &Value) -> Value {
    let mut result = json!({ "content": [{ "type": "text", "text": "as text" }] });
    if !structured.is_null() {
        result["structuredContent"] = structured.clone();
    }
    json!({ "add": { "result": result } })
}

#[tokio::test(flavor = "multi_thread")]
async fn result_that_does_not_match_its_schema_is_an_error_without_the_value() {
    let pinned = PinnedServer::new("").await;
    let client = &pinned.client;
    let arguments = json!({ "a": 1, "b": 2 });
    for (structured, place) in [
        (
            json!({ "sum": "secret" }),
            "/sum: expected number, got string",
        ),
        (
            json!({ "total": "secret" }),
            "/: the property \"sum\" is missing",
        ),
        (Value::Null, "returned no structured content"),
    ] {
        pinned.change(&answering(&structured)).await;
        let error = client.fails("add", arguments.clone()).await;
        assert_eq!(
            (error.kind.known(), error.path.as_deref()),
            (Some(Kind::Validation), Some("fix.add"))
        );
        assert!(error.message.contains(place), "{error:?}");
        let all = format!("{error:?}");
        assert!(
            all.contains("the call has happened") && !all.contains("secret"),
            "{all}"
        );
        let raw = client.begin_request(CallRequest {
            path: "fix.add".into(),
            arguments: arguments.clone().into(),
            raw: true,
            ..CallRequest::default()
        });
        let raw = raw.await.unwrap().unwrap();
        assert_eq!(raw["content"][0]["text"], "as text");
        assert_eq!(raw["structuredContent"], structured);
    }
    let warnings = pinned.warnings().await;
    let said = "the result of fix.add does not match its output schema";
    assert!(warnings[0].contains(said), "{warnings:?}");
    pinned
        .change(&answering(&json!({ "sum": 3, "more": true })))
        .await;
    assert_eq!(client.call("add", arguments.clone()).await["sum"], 3);
    // An error that a tool reports is not checked against the schema.
    let failed = json!({ "add": { "result": { "isError": true, "content": [] } } });
    pinned.change(&failed).await;
    assert_eq!(client.fails("add", arguments).await.kind, Kind::Tool);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_results_setting_decides_about_mismatched_results() {
    for (word, warnings) in [("warn", 1), ("off", 0)] {
        let pinned = PinnedServer::new(&format!("check_results = \"{word}\"")).await;
        pinned.change(&answering(&json!({ "sum": "three" }))).await;
        let answer = pinned.client.call("add", json!({ "a": 1, "b": 2 })).await;
        assert_eq!(answer, json!({ "sum": "three" }));
        assert_eq!(pinned.warnings().await.len(), warnings, "{word}");
    }
}
