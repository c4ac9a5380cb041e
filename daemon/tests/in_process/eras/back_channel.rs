//! Servers of both eras whose tools send requests to the client, which the modern era does not have.

use std::fs;

use mux_proto::{AskKind, Error, Kind};
use serde_json::{Value, json};

use super::{MODERN, home_of};
use crate::{
    client::{Client, accepted},
    home::Home,
};

const DUAL: &str = "dual";
const ELICITS: [AskKind; 1] = [AskKind::Elicitation];

/// The protocol version of the session with `fix`.
async fn protocol(client: &Client) -> String {
    let server = client.server("fix").await;
    server.protocol.unwrap_or_default()
}

/// The number of tool calls that the server received.
fn calls(home: &Home) -> usize {
    let requests = home.requests("fix");
    requests
        .iter()
        .filter(|request| !request["tool"].is_null())
        .count()
}

/// Calls a tool, which must fail.
async fn fails(client: &Client, tool: &str) -> Error {
    client.fails(tool, json!({})).await
}

async fn is_asked(client: &mut Client, tool: &str) -> Value {
    let call = client.begin(tool, json!({}));
    let (ask, kind, _) = client.question().await;
    assert_eq!(kind, AskKind::Elicitation);
    client.answer(ask, accepted("ada")).await.unwrap();
    call.await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn server_whose_tool_cannot_ask_is_reopened_in_the_legacy_era() {
    for how in ["code", "text"] {
        let home = home_of(DUAL, &["--no-back-channel", how]);
        let mut client = Client::ready(&home, &ELICITS).await;
        assert_eq!(protocol(&client).await, "2026-07-28");
        let error = fails(&client, "elicit").await;
        assert_eq!(error.kind, Kind::Tool, "{error:?}");
        assert!(
            error.message.contains("server-initiated requests"),
            "{error:?}"
        );
        let hint = error.hint.unwrap();
        for part in ["call it again", "era = \"2025-11-25\"", "[servers.fix]"] {
            assert!(hint.contains(part), "{how} {part}: {hint}");
        }
        assert_eq!(calls(&home), 2, "echo, and elicit once");
        assert_eq!(
            is_asked(&mut client, "elicit").await["content"]["name"],
            "ada"
        );
        assert_eq!(protocol(&client).await, "2025-11-25");

        // The next daemon remembers the era.
        drop(client);
        home.stop().await;
        let mut client = Client::ready(&home, &ELICITS).await;
        assert_eq!(
            is_asked(&mut client, "elicit").await["content"]["name"],
            "ada"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_call_is_repeated_after_the_era_change() {
    let home = Home::new();
    let changes = home.path("changes.json");
    let read_only = json!({ "elicit": { "list": { "annotations": { "readOnlyHint": true } } } });
    fs::write(&changes, read_only.to_string()).unwrap();
    let flags = [
        "--offers",
        "--era",
        DUAL,
        "--no-back-channel",
        "code",
        "--changes",
        changes.to_str().unwrap(),
    ];
    let entry = home.fixture("fix", &flags);
    home.write_config(&format!("{entry}retry = \"read_only\"\n"));
    let mut client = Client::ready(&home, &ELICITS).await;
    assert_eq!(
        is_asked(&mut client, "elicit").await["content"]["name"],
        "ada"
    );
    assert_eq!(calls(&home), 3, "echo, and elicit twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_calls_finish_before_the_era_change() {
    let home = home_of(DUAL, &["--no-back-channel", "code"]);
    let mut client = Client::ready(&home, &ELICITS).await;
    // This call asks in the modern way, and is in flight until it is answered.
    let slow = client.begin("elicit_rounds", json!({ "rounds": 1 }));
    let (ask, _, _) = client.question().await;
    let other = Client::deaf(&home).await;
    let hint = fails(&other, "elicit").await.hint.unwrap();
    assert!(
        hint.contains("as soon as the other calls on this one have ended"),
        "{hint}"
    );
    assert_eq!(protocol(&client).await, "2026-07-28");
    client.answer(ask, accepted("bob")).await.unwrap();
    assert_eq!(slow.await.unwrap().unwrap(), json!(["bob"]));
    // The session ends a moment after its last call.
    for _ in 0..2000 {
        if protocol(&other).await == "2025-11-25" {
            break;
        }
        drop(other.begin("echo", json!({ "text": "x" })).await.unwrap());
    }
    assert_eq!(
        is_asked(&mut client, "elicit").await["content"]["name"],
        "ada"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn modern_only_server_is_not_reopened_repeatedly() {
    let home = home_of(MODERN, &["--no-back-channel", "code"]);
    let client = Client::ready(&home, &ELICITS).await;
    assert!(
        fails(&client, "elicit")
            .await
            .hint
            .unwrap()
            .contains("call it again")
    );
    let starts = || home.starts("fix");
    let hint = fails(&client, "elicit").await.hint.unwrap();
    assert!(hint.contains("does not speak 2025-11-25"), "{hint}");
    let before = starts();
    let hint = fails(&client, "elicit").await.hint.unwrap();
    assert!(hint.contains("does not speak 2025-11-25"), "{hint}");
    assert_eq!(
        (protocol(&client).await.as_str(), starts()),
        ("2026-07-28", before)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_era_is_used() {
    let home = home_of(DUAL, &["--no-back-channel", "code"]);
    let config = std::fs::read_to_string(home.dirs.config_file()).unwrap();
    let chosen = |era: &str| home.write_config(&format!("{config}era = {era:?}\n"));
    chosen("2025-11-25");
    let mut client = Client::ready(&home, &ELICITS).await;
    assert_eq!(protocol(&client).await, "2025-11-25");
    assert_eq!(
        is_asked(&mut client, "elicit").await["content"]["name"],
        "ada"
    );

    chosen("2026-07-28");
    client.reload().await;
    for _ in 0..2 {
        let hint = fails(&client, "elicit").await.hint.unwrap();
        assert!(
            hint.contains("era = \"2026-07-28\" in [servers.fix]"),
            "{hint}"
        );
        assert_eq!(protocol(&client).await, "2026-07-28");
    }
    chosen("2027");
    client.reload().await;
    let error = fails(&client, "elicit").await;
    assert!(
        error
            .message
            .contains("none of auto, 2026-07-28, 2025-11-25"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_configured_era_is_reported_with_its_key() {
    for (speaks, era) in [("legacy", "2026-07-28"), (MODERN, "2025-11-25")] {
        let home = home_of(speaks, &[]);
        let config = std::fs::read_to_string(home.dirs.config_file()).unwrap();
        home.write_config(&format!("{config}era = {era:?}\n"));
        let client = Client::deaf(&home).await;
        let error = fails(&client, "elicit").await;
        assert_eq!(error.kind, Kind::Unavailable);
        let said = format!("only {era} is tried, as `era` in its entry says");
        assert!(error.message.contains(&said), "{error:?}");
    }
}
