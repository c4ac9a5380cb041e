//! How long a call may take without progress, and in total.

use mux_proto::{CallRequest, Kind, ServerState};
use serde_json::json;

use crate::{
    client::{Client, within},
    home::Home,
};

fn with_limits(limits: &str) -> Home {
    let home = Home::new();
    home.write_config(&format!("{}{limits}", home.fixture("fix", &["--offers"])));
    home
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_resets_the_call_timeout() {
    let home = with_limits("call_timeout = \"1s\"\n");
    let client = Client::deaf(&home).await;
    let often = json!({ "steps": 5, "ms": 500 });
    assert_eq!(client.call("progress", often).await, "done");
    let seldom = json!({ "steps": 2, "ms": 1500 });
    assert_eq!(client.fails("progress", seldom).await.kind, Kind::Timeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn total_timeout_ends_a_call_despite_progress() {
    let home = with_limits("call_timeout = \"1s\"\ntotal_timeout = \"2s\"\n");
    let client = Client::deaf(&home).await;
    let error = client
        .fails("progress", json!({ "steps": 100, "ms": 300 }))
        .await;
    assert_eq!(error.kind, Kind::Timeout);
    assert!(error.message.contains("longer than 2s in all"), "{error:?}");
    assert!(error.hint.unwrap().contains("total_timeout"));
    // The timeout of a caller is for the whole call.
    let call = client.begin_request(CallRequest {
        path: "fix.progress".into(),
        arguments: json!({ "steps": 100, "ms": 100 }).into(),
        timeout_ms: Some(700),
        ..CallRequest::default()
    });
    let error = call.await.unwrap().unwrap_err();
    assert!(error.message.contains("700ms"), "{error:?}");
    // The session survives.
    assert_eq!(client.call("echo", json!({ "text": "x" })).await, "x");
    assert_eq!(home.starts("fix"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_cannot_list_its_tools_again_is_degraded_but_works() {
    let home = Home::new();
    let fix = home.fixture("fix", &["--list-once"]);
    home.write_config(&format!("{fix}start_timeout = \"1s\"\n"));
    let client = Client::deaf(&home).await;
    assert_eq!(client.call("list_changed", json!({})).await, "said");
    let degraded = loop {
        let server = client.server("fix").await;
        if server.state == ServerState::Degraded {
            break server;
        }
    };
    let reason = degraded.reason.unwrap();
    assert!(reason.contains("its tools may have changed"), "{reason}");
    assert_eq!(client.call("echo", json!({ "text": "x" })).await, "x");
    let restarted = client.rpc.restart_server(within(), "fix".into());
    restarted.await.unwrap().unwrap();
    assert_eq!(client.server("fix").await.state, ServerState::Ready);
}
