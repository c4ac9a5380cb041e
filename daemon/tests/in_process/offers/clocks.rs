//! Time limits that pause while the user is asked, and the time limits of questions.

use mux_proto::{AskKind, Kind, NoticeKind};
use serde_json::json;

use super::with_offers;
use crate::{
    client::{Client, accepted},
    home::Home,
};

/// A server with a call timeout of 1 s, and a client that answers its elicitations.
async fn hasty(limits: &str) -> (Home, Client) {
    let home = with_offers(&format!("call_timeout = \"1s\"\n{limits}"));
    let client = Client::ready(&home, &[AskKind::Elicitation]).await;
    (home, client)
}

/// Waits longer than the call timeout, by three calls of half a second each.
async fn time_passes(home: &Home) {
    let other = Client::deaf(home).await;
    for _ in 0..3 {
        let slept = other.begin("sleep", json!({ "ms": 500 }));
        slept.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn call_timeout_pauses_while_the_user_is_asked() {
    let (home, mut client) = hasty("").await;
    let call = client.begin("elicit", json!({ "message": "take your time" }));
    let (ask, ..) = client.question().await;
    time_passes(&home).await;
    client.answer(ask, accepted("Ada")).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap()["content"]["name"], "Ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn wall_limit_of_a_run_pauses_while_the_user_is_asked() {
    let (home, mut client) = hasty("[limits]\nwall = \"1s\"\n").await;
    let elicit = ("fix.elicit", json!({ "message": "?" }));
    let run = client
        .start_steps(std::slice::from_ref(&elicit), false)
        .await;
    let (ask, ..) = client.question().await;
    time_passes(&home).await;
    client.answer(ask, accepted("Ada")).await.unwrap();
    let summary = client.summary(&run).await;
    assert_eq!(summary["result"]["content"]["name"], "Ada");
    // The time of the program itself still counts.
    let calls = [elicit, ("fix.hang", json!({}))];
    let run = client.start_steps(&calls, false).await;
    let (ask, ..) = client.question().await;
    time_passes(&home).await;
    client.answer(ask, accepted("Ada")).await.unwrap();
    assert_eq!(client.failure(&run).await.kind, Kind::Timeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn question_times_out_and_the_server_gets_the_limit() {
    let (_home, mut client) = hasty("[limits]\nask = \"1s\"\n").await;
    let call = client.begin("elicit", json!({ "message": "anybody?" }));
    let (ask, ..) = client.question().await;
    let answer = call.await.unwrap().unwrap();
    assert_eq!(answer["action"], "decline");
    let reason = answer["_meta"]["muxd/reason"].as_str().unwrap();
    assert!(
        reason.contains("1s") && reason.contains("limits.ask"),
        "{reason}"
    );
    assert_eq!(client.next().await, NoticeKind::Withdrawn { ask });
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_a_run_share_a_total_time_limit() {
    let limits = "[limits]\nask = \"2s\"\nask_total = \"3s\"\nwall = \"60s\"\n";
    let (_home, client) = hasty(limits).await;
    let elicit = ("fix.elicit", json!({ "message": "anybody?" }));
    let run = client.start_steps(&vec![elicit; 4], false).await;
    let summary = client.summary(&run).await;
    let reasons = summary["steps"].as_array().unwrap().iter();
    let reasons = reasons.map(|step| step["result"]["_meta"]["muxd/reason"].as_str().unwrap());
    // The first question has its own limit, the second has the rest of the total, and the others have no
    // time.
    let limits = [
        "(limits.ask)",
        "3s",
        "(limits.ask_total)",
        "(limits.ask_total)",
    ];
    for (reason, limit) in reasons.zip(limits) {
        assert!(reason.contains(limit), "{reason}");
    }
}
