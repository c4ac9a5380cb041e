//! Servers that use the SDKs of both eras: see `tests/clients/server-v1.mjs`.

use std::{fs, path::Path};

use mux_proto::{AskKind, NoticeKind, ToolsRequest};
use mux_tests::{
    TestEnv,
    clients::node,
    env::{pypi, server},
};
use serde_json::json;

use crate::{
    offers::{Client, accepted},
    strangers::program,
};

#[tokio::test(flavor = "multi_thread")]
async fn typescript_sdk_1_in_the_legacy_era() {
    works("server-v1.mjs", &node(), "2025-11-25", "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_sdk_2_in_the_modern_era() {
    works("server-v2.mjs", &node(), "2026-07-28", "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_sdk_in_the_modern_era() {
    // This server speaks both eras, and announces a new tool in this one only.
    let entry = "era = \"2026-07-28\"\n";
    works("server.py", &pypi("python"), "2026-07-28", entry).await;
}

async fn works(file: &str, runs_it: &Path, version: &str, entry: &str) {
    let env = TestEnv::new();
    let journal = env.path("journal");
    let file = program(&env, file);
    let args = [file.to_str().unwrap(), journal.to_str().unwrap()];
    env.write_config(&format!("{}{entry}", server("fix", runs_it, &args)));
    let starter = Client::deaf(&env).await;
    let sum = starter.call("add", json!({ "a": 1, "b": 41 })).await;
    assert_eq!(sum["sum"].as_f64(), Some(42.0), "{sum}");
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["servers"][0]["protocol"], version);

    let mut client = Client::listening(&env, &[AskKind::Elicitation]).await;
    assert_eq!(client.call("steps", json!({})).await, "done");
    let mut last = 0.0;
    while last < 3.0 {
        match client.next().await {
            NoticeKind::Progress { progress, .. } => last = progress,
            other => panic!("{other:?}"),
        }
    }

    // From a run, which continues with the answer.
    let code = "return (await mux.fix.ask({})).content.name";
    let run = client.start(code, false).await;
    let (ask, _, params) = client.question().await;
    assert_eq!(params["message"], "your name?");
    client.answer(ask, accepted("ada")).await.unwrap();
    let outcome = client.outcome(&run).await;
    assert_eq!(outcome, mux_proto::Outcome::Result(json!("ada").into()));

    let call = client.begin("wait", json!({}));
    until_noted(&env, &journal, "waiting");
    call.abort();
    until_noted(&env, &journal, "cancelled");

    let before = tools(&client).await;
    client.call("change", json!({})).await;
    loop {
        if let NoticeKind::Changed { tools: true, .. } = client.next().await {
            break;
        }
    }
    assert_eq!(tools(&client).await, before + 1);
}

async fn tools(client: &Client) -> usize {
    let request = ToolsRequest::default();
    let list = client
        .session
        .client
        .tools(mux_client::within_seconds(60), request);
    list.await.unwrap().unwrap().total
}

/// Waits until the server has written a line to its journal. Sends requests to the daemon instead of sleeping.
fn until_noted(env: &TestEnv, journal: &Path, line: &str) {
    for _ in 0..2000 {
        let noted = fs::read_to_string(journal).unwrap_or_default();
        if noted.lines().any(|noted| noted == line) {
            return;
        }
        drop(env.mux(["--json", "status"]).ok());
    }
    panic!("the server never wrote {line:?}: {}", env.log());
}
