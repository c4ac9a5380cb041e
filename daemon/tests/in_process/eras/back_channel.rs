//! Servers of both eras whose tools send requests to the client, which the modern era does not have.

use mux_proto::{AskKind, Error, Kind};
use serde_json::{Value, json};

use super::{MODERN, home_of};
use crate::client::{Client, accepted};

const DUAL: &str = "dual";
const ELICITS: [AskKind; 1] = [AskKind::Elicitation];

/// The protocol version of the session with `fix`.
async fn protocol(client: &Client) -> String {
    let server = client.server("fix").await;
    server.protocol.unwrap_or_default()
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
