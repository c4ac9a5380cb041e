//! Server starts that fail, that take long, and that wait for their turn.

use std::{fmt::Write as _, fs};

use futures::future::join_all;
use mux_proto::{Kind, ServerInfo, ServerState};
use serde_json::json;

use crate::{
    client::{Client, within},
    home::Home,
};

/// Waits until the condition is true for a server.
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
        assert_eq!(home.starts("bad"), attempt);
    }
    // From now on, calls fail immediately, and the server is not started.
    let errors = join_all((0..20).map(|_| echo())).await;
    let error = errors.last().unwrap();
    for part in ["failed 5 times", "retrying in"] {
        assert!(error.message.contains(part), "{error:?}");
    }
    let hint = error.hint.as_deref().unwrap();
    assert!(hint.contains("mux servers restart bad"), "{hint}");
    client.call("good.add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(home.starts("bad"), 5);
    let server = client.server("bad").await;
    assert_eq!(server.state, ServerState::BackingOff, "{server:#?}");

    // After the backoff, one call starts the server and fails. The next backoff is longer.
    until_seen(&client, "bad", |server| server.retry_in_ms.is_none()).await;
    for _ in 0..2 {
        echo().await;
        assert_eq!(home.starts("bad"), 6);
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
    assert_eq!(home.starts("bad"), 5);
    let restart = || client.rpc.restart_server(within(), "bad".into());
    let error = restart().await.unwrap().unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
    assert_eq!(home.starts("bad"), 6);
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
        _ = writeln!(config, "{slow}start = \"eager\"");
    }
    home.write_config(&config);
    let client = Client::deaf(&home).await;
    let states = async || -> Vec<(ServerState, String)> {
        let servers = client.rpc.servers(within()).await.unwrap().unwrap();
        let seen = |server: ServerInfo| (server.state, server.reason.unwrap_or_default());
        servers.into_iter().map(seen).collect()
    };
    let mut waited = false;
    let mut surplus = 0;
    loop {
        let all = states().await;
        let starting = |waits: bool| {
            let is_it = |(state, reason): &&(ServerState, String)| {
                *state == ServerState::Starting && reason.contains("limits.starts") == waits
            };
            all.iter().filter(is_it).count()
        };
        // The servers are read one after the other, and one that is about to wait does not say so yet: only a surplus
        // that lasts is one.
        surplus = if starting(false) > 2 { surplus + 1 } else { 0 };
        assert!(surplus < 20, "{all:?}");
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
    assert_eq!(home.starts("bad"), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_ends_in_use_is_started_again_once_for_each_use() {
    let home = Home::with_fixtures(&[("fix", &[]), ("other", &[])]);
    let client = Client::deaf(&home).await;
    for uses in 1..=3 {
        client.call("fix.pid", json!({})).await;
        assert_eq!(home.starts("fix"), 2 * uses - 1);
        home.kill("fix");
        until_seen(&client, "fix", |server| {
            server.starts == 2 * uses as u64 && server.state == ServerState::Ready
        })
        .await;
        // The new session was not called yet: its end is a failure, and the next start that of a call.
        home.kill("fix");
        until_seen(&client, "fix", |server| {
            server.state == ServerState::Failed && server.retry_in_ms.is_none()
        })
        .await;
        client.call("other.pid", json!({})).await;
        assert_eq!(home.starts("fix"), 2 * uses);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_dies_in_every_call_is_left_alone_once_the_breaker_is_open() {
    let home = Home::with_fixtures(&[("fix", &[])]);
    let client = Client::deaf(&home).await;
    for death in 1..=5 {
        let error = client
            .fails("fix.die_before", json!({ "file": home.path("mark") }))
            .await;
        assert_eq!(error.kind, Kind::UnknownOutcome, "{death}: {error:?}");
    }
    until_seen(&client, "fix", |server| {
        server.state == ServerState::BackingOff
    })
    .await;
    let error = client.fails("fix.echo", json!({ "text": "x" })).await;
    assert!(error.message.contains("failed 5 times"), "{error:?}");
    // When the backoff is over, it takes a call to start it.
    until_seen(&client, "fix", |server| server.retry_in_ms.is_none()).await;
    assert_eq!(home.starts("fix"), 5);
    client.call("fix.echo", json!({ "text": "x" })).await;
    assert_eq!(home.starts("fix"), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_were_called_lately_are_started_with_the_daemon() {
    let home = Home::new();
    let entry = |name: &str, more: &str| format!("{}{more}", home.fixture(name, &[]));
    let servers = [
        entry("used", ""),
        entry("never", ""),
        entry("lazy", "start = \"lazy\"\n"),
        entry("mine", "share = \"client\"\n"),
    ]
    .concat();
    home.write_config(&servers);
    let client = Client::deaf(&home).await;
    for name in ["used", "lazy", "mine"] {
        client.call(&format!("{name}.pid"), json!({})).await;
    }
    client.reload().await;
    let starts = || ["used", "never", "lazy", "mine"].map(|name| home.starts(name));
    assert_eq!(starts(), [1, 0, 1, 1]);
    home.stop().await;

    let client = Client::deaf(&home).await;
    until_seen(&client, "used", |server| server.state == ServerState::Ready).await;
    client.call("used.pid", json!({})).await;
    assert_eq!(starts(), [2, 0, 1, 1]);
    home.stop().await;

    // The start of the daemon also opens this server.
    let eager = entry("eager", "start = \"eager\"\n");
    home.write_config(&format!("[daemon]\nprestart = \"never\"\n{servers}{eager}"));
    let client = Client::deaf(&home).await;
    until_seen(&client, "eager", |server| {
        server.state == ServerState::Ready
    })
    .await;
    assert_eq!(client.server("used").await.state, ServerState::Cold);
    assert_eq!(starts(), [2, 0, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn call_does_not_wait_behind_starts_in_the_background() {
    let slow: &[&str] = &["--slow-start", "1500"];
    let home = Home::with_fixtures(&[
        ("a", slow),
        ("b", slow),
        ("c", slow),
        ("d", slow),
        ("fix", &[]),
    ]);
    let names = ["a", "b", "c", "d", "fix"];
    let client = Client::deaf(&home).await;
    let calls = names.map(|name| client.begin(&format!("{name}.pid"), json!({})));
    for call in join_all(calls).await {
        call.unwrap().unwrap();
    }
    home.stop().await;

    let client = Client::deaf(&home).await;
    client.call("fix.pid", json!({})).await;
    let mut waiting = 0;
    for name in ["a", "b", "c", "d"] {
        let server = client.server(name).await;
        waiting += usize::from(server.state == ServerState::Starting);
        let reason = server.reason.unwrap_or_default();
        assert!(
            server.state != ServerState::Starting || reason.contains("in the background"),
            "{name}: {reason}"
        );
    }
    assert!(waiting >= 2, "{waiting} servers are starting");
    assert_eq!(home.starts("fix"), 2);
    // A caller joins a start.
    client.call("d.pid", json!({})).await;
    assert_eq!(home.starts("d"), 2);
}
