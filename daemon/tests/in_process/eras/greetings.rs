//! Detection of a server's era, and its cache.

use mux_proto::CallRequest;
use serde_json::json;

use super::home_of;
use crate::{client::Client, home::Home};

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// The protocol version of the session with `fix`.
async fn spoken(home: &Home) -> String {
    let client = Client::deaf(home).await;
    client.call("echo", json!({ "text": "x" })).await;
    client.server("fix").await.protocol.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn era_is_detected_once_and_remembered() {
    for (args, version, probes) in [
        (&["legacy"][..], OLD, 0),
        (&["legacy", "--on-discover", "silence"], OLD, 0),
        (&["legacy", "--on-discover", "exit"], OLD, 0),
        (&["modern"], NEW, 2),
        (&["dual"], OLD, 0),
        (&["dual", "--slow-start", "1500"], OLD, 0),
    ] {
        let home = home_of(args[0], &args[1..]);
        let said = format!("{args:?}");
        assert_eq!(spoken(&home).await, version, "{said}");
        assert_eq!(home.starts("fix"), 1, "{said}");
        // A new daemon remembers the era.
        home.stop().await;
        assert_eq!(spoken(&home).await, version, "{said}");
        assert_eq!(home.starts("fix"), 2, "{said}");
        assert_eq!(home.asked("fix", "server/discover"), probes, "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_result_fields_are_passed_on() {
    for era in super::BOTH {
        let home = home_of(era, &[]);
        let client = Client::deaf(&home).await;
        let call = client.begin_request(CallRequest {
            path: "fix.meta".into(),
            arguments: json!({}).into(),
            raw: true,
            token: Some("t".into()),
            ..CallRequest::default()
        });
        let result = call.await.unwrap().unwrap();
        assert_eq!(result["x/unknown"], json!({ "kept": true }), "{result:#}");
        assert_eq!(result["_meta"], json!({ "x/meta": 1 }), "{result:#}");
        assert_eq!(result.get("resultType"), None, "{result:#}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let meta: serde_json::Value = serde_json::from_str(text).unwrap();
        let ours = |name: &str| &meta[format!("io.modelcontextprotocol/{name}")];
        assert!(!meta["progressToken"].is_null(), "{meta:#}");
        if era == super::MODERN {
            assert_eq!(ours("protocolVersion"), NEW);
            assert_eq!(ours("clientInfo")["name"], "muxd");
            assert_eq!(ours("logLevel"), "info");
            assert!(ours("clientCapabilities")["elicitation"].is_object());
        } else {
            assert!(ours("protocolVersion").is_null(), "{meta:#}");
        }
    }
}
