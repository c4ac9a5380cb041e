//! A server of both eras, by a published SDK, whose tools send requests to the client, which the modern era does not have.

use std::{net::TcpListener, process::Command};

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
    assert_eq!(error.kind, Kind::Tool, "{error:?}");
    assert!(error.message.contains("no back-channel"), "{error:?}");
    let hint = error.hint.unwrap();
    for part in ["call it again", "era = \"2025-11-25\"", "[servers.fix]"] {
        assert!(hint.contains(part), "{part}: {hint}");
    }
    assert_eq!(is_asked(&mut client, "ask").await["result"], "ada");
    assert_eq!(protocol(&env), "2025-11-25");

    // The next daemon remembers the era.
    drop(client);
    env.stop();
    let mut client = Client::listening(&env, &ELICITS).await;
    assert_eq!(is_asked(&mut client, "ask").await["result"], "ada");
}

/// A port that was free a moment ago: the server does not report the port that it binds.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
