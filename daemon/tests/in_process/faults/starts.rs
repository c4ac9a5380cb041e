//! Server starts that fail, that take long, and that wait for their turn.

use std::fs;

use futures::future::join_all;
use mux_proto::{Kind, ServerInfo, ServerState};
use serde_json::json;

use crate::{
    client::{Client, within},
    home::Home,
};

/// Waits until the condition holds for a server.
async fn until_seen(client: &Client, name: &str, is_so: impl Fn(&ServerInfo) -> bool) {
    while !is_so(&client.server(name).await) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_callers_share_one_slow_start() {
    let home = Home::with_fixtures(&[("slow", &["--slow-start", "700"])]);
    let clients = join_all((0..10).map(|_| Client::deaf(&home))).await;
    let calls = clients.iter().enumerate();
    let calls = calls.map(|(n, client)| client.call("slow.add", json!({ "a": n, "b": 0 })));
    for (n, sum) in join_all(calls).await.into_iter().enumerate() {
        assert_eq!(sum["sum"], n);
    }
    assert_eq!(home.starts("slow"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_server_is_awaited_and_not_delayed_by_a_mute_one() {
    let home = Home::new();
    let mute = home.fixture("mute", &["--mute"]);
    let slow = home.fixture("slow", &["--slow-start", "500"]);
    home.write_config(&format!("{mute}start_timeout = \"1s\"\n{slow}"));
    let client = Client::deaf(&home).await;
    let never = client.begin("mute.echo", json!({ "text": "x" }));
    let late = client.call("slow.echo", json!({ "text": "late" })).await;
    assert_eq!(late, "late");
    let error = never.await.unwrap().unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
    for part in [
        "`mute` cannot be started",
        "not ready within 1s (start_timeout)",
    ] {
        assert!(error.message.contains(part), "{error:?}");
    }
    assert_eq!(home.starts("mute"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeatedly_failing_server_backs_off_until_it_has_recovered() {
    let home = Home::new();
    let broken = home.path("broken");
    fs::write(&broken, "").unwrap();
    let bad = home.fixture("bad", &["--exit-while", broken.to_str().unwrap()]);
    home.write_config(&format!("{bad}{}", home.fixture("good", &[])));
    let client = Client::deaf(&home).await;
    let echo = || client.fails("bad.echo", json!({ "text": "x" }));
    for attempt in 1..=5 {
        assert_eq!(echo().await.kind, Kind::Unavailable);
        // The first attempt starts it twice: the failure may have been caused by the probe of the protocol era.
        assert_eq!(home.starts("bad"), attempt + 1);
    }
    // From now on calls fail at once, and the server is not started.
    let errors = join_all((0..20).map(|_| echo())).await;
    let error = errors.last().unwrap();
    for part in ["failed 5 times", "tried again in"] {
        assert!(error.message.contains(part), "{error:?}");
    }
    let hint = error.hint.as_deref().unwrap();
    assert!(hint.contains("mux servers restart bad"), "{hint}");
    client.call("good.add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(home.starts("bad"), 6);
    let server = client.server("bad").await;
    assert_eq!(server.state, ServerState::BackingOff, "{server:#?}");

    // After the backoff one call starts it, and fails; the next backoff is longer.
    until_seen(&client, "bad", |server| server.retry_in_ms.is_none()).await;
    for _ in 0..2 {
        echo().await;
        assert_eq!(home.starts("bad"), 7);
    }
    // The server has recovered, and the next start succeeds.
    fs::remove_file(&broken).unwrap();
    until_seen(&client, "bad", |server| server.retry_in_ms.is_none()).await;
    client.call("bad.echo", json!({ "text": "back" })).await;
    assert_eq!(client.server("bad").await.state, ServerState::Ready);
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_resets_the_backoff() {
    let home = Home::new();
    let broken = home.path("broken");
    fs::write(&broken, "").unwrap();
    home.write_config(&home.fixture("bad", &["--exit-while", broken.to_str().unwrap()]));
    let client = Client::deaf(&home).await;
    for _ in 0..6 {
        client.fails("bad.echo", json!({ "text": "x" })).await;
    }
    assert_eq!(home.starts("bad"), 6);
    let restart = || client.rpc.restart_server(within(), "bad".into());
    let error = restart().await.unwrap().unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
    assert_eq!(home.starts("bad"), 7);
    fs::remove_file(&broken).unwrap();
    restart().await.unwrap().unwrap();
    assert_eq!(client.server("bad").await.state, ServerState::Ready);
}

#[tokio::test(flavor = "multi_thread")]
async fn eager_servers_start_with_the_daemon_within_the_limit_of_starts() {
    let home = Home::new();
    let names: Vec<String> = (0..6).map(|n| format!("s{n}")).collect();
    let mut config = String::from("[limits]\nstarts = 2\n");
    for name in &names {
        let slow = home.fixture(name, &["--slow-start", "600"]);
        config.push_str(&format!("{slow}start = \"eager\"\n"));
    }
    home.write_config(&config);
    let client = Client::deaf(&home).await;
    let states = async || -> Vec<(ServerState, String)> {
        let servers = client.rpc.servers(within()).await.unwrap().unwrap();
        let seen = |server: ServerInfo| (server.state, server.reason.unwrap_or_default());
        servers.into_iter().map(seen).collect()
    };
    let mut waited = false;
    loop {
        let all = states().await;
        let starting = |waits: bool| {
            let is_it = |(state, reason): &&(ServerState, String)| {
                *state == ServerState::Starting && reason.contains("limits.starts") == waits
            };
            all.iter().filter(is_it).count()
        };
        // The servers are read one after the other: a list that has changed meanwhile proves nothing.
        assert!(starting(false) <= 2 || states().await != all, "{all:?}");
        waited |= starting(true) > 0;
        if all.iter().all(|(state, _)| *state == ServerState::Ready) {
            break;
        }
    }
    assert!(waited, "no server waited for its turn");
    assert!(names.iter().all(|name| home.starts(name) == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn eager_server_that_ends_is_restarted_and_one_that_crashes_backs_off() {
    let home = Home::new();
    let good = home.fixture("good", &[]);
    let bad = home.fixture("bad", &["--exit-at-start", "3"]);
    home.write_config(&format!(
        "{good}start = \"eager\"\n{bad}start = \"eager\"\n"
    ));
    let client = Client::deaf(&home).await;
    until_seen(&client, "good", |server| server.state == ServerState::Ready).await;
    home.kill("good");
    until_seen(&client, "good", |server| {
        server.starts == 2 && server.state == ServerState::Ready
    })
    .await;
    until_seen(&client, "bad", |server| {
        server.state == ServerState::BackingOff
    })
    .await;
    assert_eq!(home.starts("bad"), 6);
}
