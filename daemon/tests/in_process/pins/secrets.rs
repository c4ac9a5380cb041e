//! Results that seem to hold a secret.

use mux_proto::{CallRequest, Kind};
use serde_json::{Value, json};

use super::PinnedServer;

/// A token in a published format, composed because scanners would report this file otherwise.
fn token() -> String {
    format!(
        "{}_{}",
        "ghp",
        "k9Qz3VxB7mTr1HjW5nYc".repeat(2).split_at(36).0
    )
}

async fn raw(pinned: &PinnedServer) -> Value {
    let request = CallRequest {
        path: "fix.add".into(),
        arguments: json!({ "a": 1, "b": 2 }).into(),
        raw: true,
        ..CallRequest::default()
    };
    pinned.client.begin_request(request).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_reported_masked_or_ignored() {
    for (keys, shown, warning) in [
        (
            "",
            token(),
            Some("secrets = \"mask\" in its entry masks it"),
        ),
        ("secrets = \"mask\"", "***".into(), Some("it was masked")),
        ("secrets = \"off\"", token(), None),
    ] {
        let pinned = PinnedServer::new(keys).await;
        let result = json!({
            "content": [{ "type": "text", "text": format!("{{\"key\":\"{}\"}}", token()) }],
            "structuredContent": { "sum": 3, "note": format!("key {}", token()) },
        });
        pinned.change(&json!({ "add": { "result": result } })).await;
        let value = pinned.client.call("add", json!({ "a": 1, "b": 2 })).await;
        assert_eq!(value, json!({ "sum": 3, "note": format!("key {shown}") }));
        let raw = raw(&pinned).await;
        let text = raw["content"][0]["text"].as_str().unwrap();
        let text: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text, json!({ "key": shown }));
        let warnings = pinned.warnings().await;
        assert_eq!(
            warnings.len(),
            usize::from(warning.is_some()),
            "{warnings:?}"
        );
        if let Some(warning) = warning {
            let begins = "2 results seemed to contain a secret, of fix.add; ";
            assert!(warnings[0].starts_with(begins), "{warnings:?}");
            assert!(warnings[0].contains(warning), "{warnings:?}");
            assert!(!warnings[0].contains(&token()));
        }
        // A tool's error is also a result.
        let content = json!([{ "type": "text", "text": format!("no access with {}", token()) }]);
        let failed = json!({ "isError": true, "content": content });
        pinned.change(&json!({ "add": { "result": failed } })).await;
        let error = pinned.client.fails("add", json!({ "a": 1, "b": 2 })).await;
        assert_eq!(error.kind, Kind::Tool);
        assert_eq!(error.message, format!("no access with {shown}"));
        assert_eq!(format!("{error:?}").contains(&token()), shown != "***");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn result_that_is_too_long_to_be_masked_is_an_error() {
    let long = json!({ "bytes": (4 << 20) + 1 });
    let masking = PinnedServer::new("secrets = \"mask\"").await;
    let error = masking.client.fails("blob", long.clone()).await;
    assert_eq!(error.kind, Kind::Limit, "{error:?}");
    let hint = error.hint.unwrap();
    assert!(
        hint.contains("secrets = \"warn\" in [servers.fix]"),
        "{hint}"
    );
}
