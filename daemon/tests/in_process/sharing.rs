//! The scope that shares a server session: the user, a workspace, a client, or a run.
//!
//! Invariant: an instance of a server serves callers of one session key only, and ends with the client or run of that
//! key.

mod roots;

use std::{collections::BTreeSet, fs, path::PathBuf};

use mux_proto::{Kind, ServerState};
use serde_json::{Value, json};

use crate::{client::Client, home::Home};

/// Creates a directory for a client to work in.
fn workspace(home: &Home, name: &str) -> PathBuf {
    let folder = home.path(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The number of the instance of the fixture server that this client reaches.
async fn instance(client: &Client) -> Value {
    client.call("pid", json!({})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn session_of_a_client_is_not_shared_and_ends_with_it() {
    let home = Home::new();
    home.write_config(&format!("{}share = \"client\"\n", home.fixture("fix", &[])));
    let one = Client::deaf(&home).await;
    let two = Client::deaf(&home).await;
    let mine = instance(&one).await;
    let theirs = instance(&two).await;
    assert_ne!(mine, theirs);
    // The runs of a client use its session.
    let run = one.start_steps(&[("fix.pid", json!({}))], false).await;
    assert_eq!(one.summary(&run).await["result"], mine);
    drop(one);
    two.until_sessions(1).await;
    assert_eq!(instance(&two).await, theirs);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_of_a_run_is_not_shared_and_ends_with_it() {
    let home = Home::new();
    home.write_config(&format!("{}share = \"run\"\n", home.fixture("fix", &[])));
    let client = Client::deaf(&home).await;
    let program = [("fix.pid", json!({})), ("fix.pid", json!({}))];
    let mut instances = BTreeSet::new();
    let both = [
        client.start_steps(&program, false).await,
        client.start_steps(&program, false).await,
    ];
    let last = client.start_steps(&program, false).await;
    for run in both.iter().chain([&last]) {
        let summary = client.summary(run).await;
        let steps = &summary["steps"];
        assert_eq!(steps[0]["result"], steps[1]["result"]);
        let instance = steps[0]["result"].to_string();
        assert!(instances.insert(instance), "one served two runs: {summary}");
    }
    client.until_sessions(0).await;
    assert_eq!(home.starts("fix"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_session_is_closed_after_idle_close_and_reopened() {
    let home = Home::new();
    let fix = home.fixture("fix", &[]);
    home.write_config(&format!(
        "{fix}idle_close = \"1s\"\nshare = \"workspace\"\n"
    ));
    let client = Client::at(&home, Some(workspace(&home, "a"))).await;
    let first = instance(&client).await;
    client.until_sessions(0).await;
    let server = client.server("fix").await;
    assert_eq!(server.state, ServerState::Cold, "{server:#?}");
    assert!(server.tools.unwrap() > 10, "they stay known");
    let reason = server.reason.unwrap();
    assert!(
        reason.contains("closed after 1s without a call (idle_close)"),
        "{reason}"
    );
    assert_ne!(instance(&client).await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn workspace_variable_with_share_user_is_refused() {
    let home = Home::new();
    let fix = home.fixture("fix", &["--name", "${workspace}"]);
    home.write_config(&format!("{fix}share = \"user\"\n"));
    let client = Client::deaf(&home).await;
    let reason = client.server("fix").await.reason.unwrap();
    assert!(
        reason.contains("cannot be combined with `${workspace}`"),
        "{reason}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_sessions_are_closed_at_the_session_limit_and_busy_ones_are_not() {
    let home = Home::new();
    let fix = home.fixture("fix", &[]);
    home.write_config(&format!("{fix}share = \"client\"\n"));
    let mut clients = Vec::new();
    for _ in 0..16 {
        clients.push(Client::deaf(&home).await);
    }
    let first = instance(&clients[0]).await;
    for client in &clients[1..] {
        instance(client).await;
    }
    let another = Client::deaf(&home).await;
    instance(&another).await;
    let now = instance(&clients[0]).await;
    assert_ne!(now, first, "it was used least lately");
    // Now all sixteen sessions have a hanging call.
    let late = clients.remove(1);
    clients.push(another);
    let hanging: Vec<_> = clients
        .iter()
        .map(|client| client.begin("hang", json!({})))
        .collect();
    late.until_waiting(16).await;
    let error = late.fails("pid", json!({})).await;
    assert_eq!(error.kind, Kind::Busy, "{error:?}");
    assert!(error.message.contains("16 sessions"), "{error:?}");
    hanging.iter().for_each(tokio::task::JoinHandle::abort);
}
