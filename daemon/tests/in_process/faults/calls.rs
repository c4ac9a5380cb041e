//! Calls that get no answer, or the answer of another call.

use futures::future::join_all;
use mux_proto::{AnyKind, CallRequest, Kind};
use serde_json::{Value, json};

use crate::{
    client::{Client, within},
    home::Home,
};

/// A home with a fixture server `fix`, and the well-behaved server `other`.
fn with_other(more: &str) -> Home {
    let home = Home::new();
    let fix = home.fixture("fix", &[]);
    let other = home.fixture("other", &[]);
    home.write_config(&format!("{fix}{more}{other}"));
    home
}

#[tokio::test(flavor = "multi_thread")]
async fn server_death_in_a_call_fails_it_once_and_restarts_for_the_next() {
    for tool in ["die_before", "die_mid"] {
        let home = with_other("");
        let client = Client::deaf(&home).await;
        let mark = home.path("mark");
        let other = client.call("other.pid", json!({})).await;
        let error = client.fails(tool, json!({ "file": mark })).await;
        assert_eq!(error.kind, Kind::UnknownOutcome, "{tool}: {error:?}");
        assert_eq!(error.path, Some(format!("fix.{tool}")));
        assert!(!error.recoverable);
        assert!(error.hint.unwrap().contains("may or may not"));
        let sum = client.call("add", json!({ "a": 1, "b": 2 })).await;
        assert_eq!(sum["sum"], 3);
        assert_eq!(std::fs::read_to_string(&mark).unwrap(), "mark\n", "{tool}");
        assert_eq!((home.called("fix", tool), home.starts("fix")), (1, 2));
        assert_eq!(client.server("fix").await.starts, 2);
        assert_eq!(client.call("other.pid", json!({})).await, other, "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_counts_though_the_server_dies_right_after_it() {
    let home = with_other("");
    let client = Client::deaf(&home).await;
    // The second call finds the session open, closing or closed.
    for _ in 0..5 {
        assert_eq!(client.call("die_after", json!({})).await, "the last words");
        match client.try_call("echo", json!({ "text": "next" })).await {
            Ok(text) => assert_eq!(text, "next"),
            Err(error) => {
                assert_eq!(error.path.as_deref(), Some("fix.echo"));
                let expected = [Kind::UnknownOutcome, Kind::Unavailable].map(AnyKind::from);
                assert!(expected.contains(&error.kind), "{error:?}");
            }
        }
    }
    assert_eq!(home.called("fix", "die_after"), 5);
    assert_eq!(client.call("echo", json!({ "text": "now" })).await, "now");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_lazy_server_is_restarted_by_the_next_call() {
    let home = with_other("start = \"lazy\"\n");
    let client = Client::deaf(&home).await;
    for round in 1..=5 {
        client.call("pid", json!({})).await;
        home.kill("fix");
        client.until_ended("fix", round).await;
        assert_eq!(home.starts("fix") as u64, round);
    }
    assert_eq!(client.server("other").await.starts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn server_death_fails_sent_calls_and_queued_calls_use_the_next_session() {
    let home = with_other("");
    let client = Client::deaf(&home).await;
    // Eight calls are sent to one server at the same time. The others wait in the daemon.
    let sent: Vec<_> = (0..8).map(|_| client.begin("hang", json!({}))).collect();
    while home.called("fix", "hang") < 8 {
        client.call("other.pid", json!({})).await;
    }
    let waiting: Vec<_> = (0..20)
        .map(|n| client.begin("add", json!({ "a": n, "b": 0 })))
        .collect();
    client.call("other.pid", json!({})).await;
    home.kill("fix");
    for call in sent {
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.kind, Kind::UnknownOutcome);
    }
    for (n, call) in waiting.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().unwrap()["sum"], n);
    }
    assert_eq!(
        (home.called("fix", "hang"), home.called("fix", "add")),
        (8, 20)
    );
    assert_eq!(home.starts("fix"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn unanswered_call_times_out_by_name_and_is_cancelled_at_the_server() {
    let home = with_other("call_timeout = \"1s\"\n");
    let client = Client::deaf(&home).await;
    for tool in ["hang", "wrong_id"] {
        let error = client.fails(tool, json!({})).await;
        assert_eq!(error.kind, Kind::Timeout, "{error:?}");
        assert_eq!(error.path, Some(format!("fix.{tool}")));
        let said = format!("fix.{tool} did not answer within 1s");
        assert!(error.message.contains(&said), "{error:?}");
        assert!(error.hint.unwrap().contains("call_timeout"));
    }
    let call = client.begin_request(CallRequest {
        path: "fix.hang".into(),
        arguments: json!({}).into(),
        timeout_ms: Some(300),
        ..CallRequest::default()
    });
    let error = call.await.unwrap().unwrap_err();
    assert!(error.message.contains("within 300ms"), "{error:?}");
    // The session is open, and got all three cancellations.
    let cancelled = client.call("cancelled", json!({})).await;
    assert_eq!(cancelled.as_array().unwrap().len(), 3, "{cancelled}");
    assert_eq!(home.called("fix", "hang"), 2);
    assert_eq!((home.called("fix", "wrong_id"), home.starts("fix")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn call_with_zero_timeout_is_not_sent() {
    let home = with_other("");
    let client = Client::deaf(&home).await;
    let call = client.begin_request(CallRequest {
        path: "fix.hang".into(),
        arguments: json!({}).into(),
        timeout_ms: Some(0),
        ..CallRequest::default()
    });
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind, Kind::Validation);
    assert!(error.message.contains("a timeout of 0"), "{error:?}");
    // Not even the server is started.
    assert_eq!((home.called("fix", "hang"), home.starts("fix")), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_of_many_clients_on_one_session_get_their_own_answers() {
    let home = with_other("");
    let clients: Vec<Client> = join_all((0..12).map(|_| Client::deaf(&home))).await;
    let mut calls = Vec::new();
    for (number, client) in clients.iter().enumerate() {
        for call in 0..20 {
            let text = format!("{number}/{call}-{}", "x".repeat(call * 50));
            let value = json!({ "n": text });
            let answer = client.begin("echo_json", json!({ "value": value.clone() }));
            calls.push((value, answer));
        }
    }
    for (value, answer) in calls {
        assert_eq!(answer.await.unwrap().unwrap()["value"], value);
    }
    assert_eq!(home.starts("fix"), 1);
    assert_eq!(clients[0].server("fix").await.calls, 240);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_server_deaths_cause_no_wrong_answer() {
    let home = Home::with_fixtures(&[("fix", &["--die-after-calls", "7"])]);
    let client = Client::deaf(&home).await;
    // Each answer is right or unknown, and the server got each call at most once.
    let mut right = 0;
    let mut unknown = 0;
    for n in 0..60 {
        match client.try_call("add", json!({ "a": n, "b": 1 })).await {
            Ok(sum) => {
                assert_eq!(sum["sum"], n + 1);
                right += 1;
            }
            Err(error) if error.kind == Kind::UnknownOutcome => unknown += 1,
            Err(error) => assert_eq!(error.kind, Kind::Unavailable),
        }
    }
    assert!(right >= 50, "{right}");
    let arrived = home.called("fix", "add");
    assert!(arrived >= right && arrived <= right + unknown, "{arrived}");
    let requests = home.requests("fix");
    for n in 0..60 {
        let is_it = |request: &&Value| request["arguments"]["a"] == n;
        let times = requests.iter().filter(is_it).count();
        assert!(times <= 1, "call {n} was made {times} times");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_hangs_on_tools_relist_still_works_and_can_be_closed() {
    let home = Home::with_fixtures(&[("fix", &["--list-once"])]);
    let client = Client::deaf(&home).await;
    assert_eq!(client.call("list_changed", json!({})).await, "said");
    assert_eq!(client.call("echo", json!({ "text": "on" })).await, "on");
    let restarted = client.rpc.restart_server(within(), "fix".into());
    restarted.await.unwrap().unwrap();
    assert_eq!(home.starts("fix"), 2);
    assert_eq!(client.call("list_changed", json!({})).await, "said");
    drop(client);
    home.stop().await;
}
