//! A server of both eras, by a published SDK, whose tools send requests to the client, which the modern era does not have.

use mux_proto::{AskKind, Error};
use mux_tests::{
    TestEnv,
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
