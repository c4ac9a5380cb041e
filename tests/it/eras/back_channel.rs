//! A server of both eras, by a published SDK, whose tools send requests to the client, which the modern era does not have.

use std::{fs, net::TcpListener, process::Command};

use mux_proto::{AskKind, Error, Kind};
use mux_tests::{
    Running, TestEnv,
    env::{pypi, server},
};
use serde_json::{Value, json};

use crate::{
    offers::{Client, accepted},
    strangers::program,
};

const ELICITS: [AskKind; 1] = [AskKind::Elicitation];

fn protocol(env: &TestEnv) -> Value {
    env.mux(["--json", "status"]).ok().json()["servers"][0]["protocol"].take()
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
async fn tool_of_a_process_can_elicit_in_its_first_call() {
    let env = TestEnv::new();
    let file = program(&env, "asks.py");
    env.write_config(&server("fix", &pypi("python"), &[file.to_str().unwrap()]));
    let mut client = Client::listening(&env, &ELICITS).await;
    assert_eq!(is_asked(&mut client, "ask").await["result"], "ada");
    assert_eq!(protocol(&env), "2025-11-25");
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_of_a_remote_server_can_elicit_after_the_era_change() {
    let env = TestEnv::new();
    let port = free_port();
    let mut command = Command::new(pypi("python"));
    command.arg(program(&env, "asks.py")).arg(port.to_string());
    let mut running = Running::start(&mut command);
    running.wait_for("Uvicorn running");
    env.write_config(&format!(
        "[servers.fix]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"
    ));
    let mut client = Client::listening(&env, &ELICITS).await;
    let error = fails(&client, "ask").await;
    assert!(error.message.contains("no back-channel"), "{error:?}");
    assert_eq!(is_asked(&mut client, "ask").await["result"], "ada");
    assert_eq!(protocol(&env), "2025-11-25");
}

/// A server of both eras behind a URL, whose entry also has these lines, and its process.
fn remote(env: &TestEnv, flags: &[&str], entry: &str) -> Running {
    let log = env.path("calls");
    let mut command = env.command("mux-fixture-server");
    command.args(["--http", "--offers", "--era", "dual", "--call-log"]);
    let mut running = Running::start(command.arg(&log).args(flags));
    let port = running.next_line_of_output();
    env.write_config(&format!(
        "[servers.fix]\nurl = \"http://127.0.0.1:{}/mcp\"\n{entry}",
        port.trim()
    ));
    running
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_server_whose_tool_cannot_ask_is_reopened_in_the_legacy_era() {
    for how in ["code", "text"] {
        let env = TestEnv::new();
        let _running = remote(&env, &["--no-back-channel", how], "");
        let mut client = Client::listening(&env, &ELICITS).await;
        client.call("echo", json!({ "text": "x" })).await;
        assert_eq!(protocol(&env), "2026-07-28");
        let error = fails(&client, "elicit").await;
        assert_eq!(error.kind, Kind::Tool, "{error:?}");
        let hint = error.hint.unwrap();
        for part in ["call it again", "era = \"2025-11-25\"", "[servers.fix]"] {
            assert!(hint.contains(part), "{how} {part}: {hint}");
        }
        let answer = is_asked(&mut client, "elicit").await;
        assert_eq!(answer["content"]["name"], "ada");
        assert_eq!(protocol(&env), "2025-11-25");

        // The next daemon remembers the era.
        drop(client);
        env.stop();
        let mut client = Client::listening(&env, &ELICITS).await;
        let answer = is_asked(&mut client, "elicit").await;
        assert_eq!(answer["content"]["name"], "ada");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_call_is_repeated_after_the_era_change() {
    let env = TestEnv::new();
    let changes = env.path("changes.json");
    let read_only = json!({ "elicit": { "list": { "annotations": { "readOnlyHint": true } } } });
    fs::write(&changes, read_only.to_string()).unwrap();
    let flags = [
        "--no-back-channel",
        "code",
        "--changes",
        changes.to_str().unwrap(),
    ];
    let _running = remote(&env, &flags, "retry = \"read_only\"\n");
    let mut client = Client::listening(&env, &ELICITS).await;
    let answer = is_asked(&mut client, "elicit").await;
    assert_eq!(answer["content"]["name"], "ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_calls_finish_before_the_era_change() {
    let env = TestEnv::new();
    let _running = remote(&env, &["--no-back-channel", "code"], "");
    let mut client = Client::listening(&env, &ELICITS).await;
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
    for _ in 0..200 {
        if protocol(&env) == "2025-11-25" {
            break;
        }
        drop(other.begin("echo", json!({ "text": "x" })).await.unwrap());
    }
    let answer = is_asked(&mut client, "elicit").await;
    assert_eq!(answer["content"]["name"], "ada");
}

/// A port that was free a moment ago: the server does not report the port that it binds.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
