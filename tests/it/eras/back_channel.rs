//! Servers of both eras whose tools send requests to the client, which the modern era does not have.

use std::{fs, path::Path};

use mux_proto::{AskKind, Error, Kind};
use mux_tests::{
    TestEnv,
    env::{pypi, server},
};
use serde_json::{Value, json};

use super::{MODERN, home};
use crate::{
    offers::{Client, accepted},
    strangers::program,
};

const DUAL: &str = "dual";
const ELICITS: [AskKind; 1] = [AskKind::Elicitation];

fn protocol(env: &TestEnv) -> Value {
    env.mux(["--json", "status"]).ok().json()["servers"][0]["protocol"].take()
}

/// The number of tool calls that the server received.
fn calls(log: &Path) -> usize {
    let log = fs::read_to_string(log).unwrap();
    log.lines()
        .filter(|line| line.contains("\"tool\":"))
        .count()
}

/// Calls a tool, which must fail.
async fn fails(client: &Client, tool: &str) -> Error {
    client.begin(tool, json!({})).await.unwrap().unwrap_err()
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
        let (env, log) = home(DUAL, &["--no-back-channel", how]);
        let mut client = Client::ready(&env, &ELICITS).await;
        assert_eq!(protocol(&env), "2026-07-28");
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
        assert_eq!(calls(&log), 2, "echo, and elicit once");
        assert_eq!(
            is_asked(&mut client, "elicit").await["content"]["name"],
            "ada"
        );
        assert_eq!(protocol(&env), "2025-11-25");

        // The next daemon remembers the era.
        drop(client);
        env.stop();
        let mut client = Client::ready(&env, &ELICITS).await;
        assert_eq!(
            is_asked(&mut client, "elicit").await["content"]["name"],
            "ada"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_call_is_repeated_after_the_era_change() {
    let env = TestEnv::new();
    let (log, changes) = (env.path("calls"), env.path("changes.json"));
    let read_only = json!({ "elicit": { "list": { "annotations": { "readOnlyHint": true } } } });
    fs::write(&changes, read_only.to_string()).unwrap();
    let (log_name, changes) = (log.to_str().unwrap(), changes.to_str().unwrap());
    let args = [
        "--offers",
        "--era",
        DUAL,
        "--no-back-channel",
        "code",
        "--call-log",
        log_name,
        "--changes",
        changes,
    ];
    let entry = env.fixture("fix", &args);
    env.write_config(&format!("{entry}retry = \"read_only\"\n"));
    let mut client = Client::ready(&env, &ELICITS).await;
    assert_eq!(
        is_asked(&mut client, "elicit").await["content"]["name"],
        "ada"
    );
    assert_eq!(calls(&log), 3, "echo, and elicit twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_calls_finish_before_the_era_change() {
    let (env, _) = home(DUAL, &["--no-back-channel", "code"]);
    let mut client = Client::ready(&env, &ELICITS).await;
    // This call asks in the modern way, and is in flight until it is answered.
    let slow = client.begin("elicit_rounds", json!({ "rounds": 1 }));
    let (ask, _, _) = client.question().await;
    let other = Client::deaf(&env).await;
    let hint = fails(&other, "elicit").await.hint.unwrap();
    assert!(
        hint.contains("as soon as the other calls on this one have ended"),
        "{hint}"
    );
    assert_eq!(protocol(&env), "2026-07-28");
    client.answer(ask, accepted("bob")).await.unwrap();
    assert_eq!(slow.await.unwrap().unwrap(), json!(["bob"]));
    // The session ends a moment after its last call.
    for _ in 0..2000 {
        if protocol(&env) == "2025-11-25" {
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
    let (env, _) = home(MODERN, &["--no-back-channel", "code"]);
    let client = Client::ready(&env, &ELICITS).await;
    assert!(
        fails(&client, "elicit")
            .await
            .hint
            .unwrap()
            .contains("call it again")
    );
    let starts = || env.starts("fix").len();
    let hint = fails(&client, "elicit").await.hint.unwrap();
    assert!(hint.contains("does not speak 2025-11-25"), "{hint}");
    let before = starts();
    let hint = fails(&client, "elicit").await.hint.unwrap();
    assert!(hint.contains("does not speak 2025-11-25"), "{hint}");
    assert_eq!((protocol(&env), starts()), (json!("2026-07-28"), before));
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_era_is_used() {
    let (env, _) = home(DUAL, &["--no-back-channel", "code"]);
    let config = std::fs::read_to_string(env.dirs.config_file()).unwrap();
    let chosen = |era: &str| {
        env.write_config(&format!("{config}era = {era:?}\n"));
        env.mux(["reload"]).ok();
    };
    chosen("2025-11-25");
    let mut client = Client::ready(&env, &ELICITS).await;
    assert_eq!(protocol(&env), "2025-11-25");
    assert_eq!(
        is_asked(&mut client, "elicit").await["content"]["name"],
        "ada"
    );

    chosen("2026-07-28");
    for _ in 0..2 {
        let hint = fails(&client, "elicit").await.hint.unwrap();
        assert!(
            hint.contains("era = \"2026-07-28\" in [servers.fix]"),
            "{hint}"
        );
        assert_eq!(protocol(&env), "2026-07-28");
    }
    chosen("2027");
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
        let (env, _) = home(speaks, &[]);
        let config = std::fs::read_to_string(env.dirs.config_file()).unwrap();
        env.write_config(&format!("{config}era = {era:?}\n"));
        let client = Client::deaf(&env).await;
        let error = fails(&client, "elicit").await;
        assert_eq!(error.kind, Kind::Unavailable);
        let said = format!("only {era} is tried, as `era` in its entry says");
        assert!(error.message.contains(&said), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn python_sdk_tool_can_elicit_after_the_era_change() {
    let env = TestEnv::new();
    let file = program(&env, "asks.py");
    env.write_config(&server("fix", &pypi("python"), &[file.to_str().unwrap()]));
    let mut client = Client::listening(&env, &ELICITS).await;
    let error = fails(&client, "ask").await;
    assert!(error.message.contains("no back-channel"), "{error:?}");
    assert_eq!(is_asked(&mut client, "ask").await["result"], "ada");
    assert_eq!(protocol(&env), "2025-11-25");
}
