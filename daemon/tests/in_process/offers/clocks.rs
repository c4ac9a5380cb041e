//! Time limits that pause while the user is asked, and the time limits of questions.

use mux_proto::{AskKind, NoticeKind, Outcome};
use serde_json::json;

use super::{Client, accepted, with_offers};
use mux_tests::TestEnv;

/// A server with a call timeout of 1 s, and a client that answers its elicitations.
async fn hasty(limits: &str) -> (TestEnv, Client) {
    let (env, _) = with_offers(&format!("call_timeout = \"1s\"\n{limits}"));
    let client = Client::ready(&env, &[AskKind::Elicitation]).await;
    (env, client)
}

/// Waits longer than the call timeout, by three calls of half a second each.
async fn time_passes(env: &TestEnv) {
    let other = Client::deaf(env).await;
    for _ in 0..3 {
        let slept = other.begin("sleep", json!({ "ms": 500 }));
        slept.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn call_timeout_pauses_while_the_user_is_asked() {
    let (env, mut client) = hasty("").await;
    let call = client.begin("elicit", json!({ "message": "take your time" }));
    let (ask, ..) = client.question().await;
    time_passes(&env).await;
    client.answer(ask, accepted("Ada")).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap()["content"]["name"], "Ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn wall_limit_of_a_run_pauses_while_the_user_is_asked() {
    let (env, mut client) = hasty("[limits]\nwall = \"1s\"\n").await;
    let code = "return (await mux.fix.elicit({ message: '?' })).content.name";
    let run = client.start(code, false).await;
    let (ask, ..) = client.question().await;
    time_passes(&env).await;
    client.answer(ask, accepted("Ada")).await.unwrap();
    assert_eq!(
        client.outcome(&run).await,
        Outcome::Result(json!("Ada").into())
    );
    // The time of the program itself still counts.
    let code = "await mux.fix.elicit({ message: '?' }); await mux.fix.hang({})";
    let run = client.start(code, false).await;
    let (ask, ..) = client.question().await;
    time_passes(&env).await;
    client.answer(ask, accepted("Ada")).await.unwrap();
    let Outcome::Error(error) = client.outcome(&run).await else {
        panic!("it never ends");
    };
    assert_eq!(error.kind, mux_proto::Kind::Timeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn question_times_out_and_the_server_gets_the_limit() {
    let (_env, mut client) = hasty("[limits]\nask = \"1s\"\n").await;
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
    let (_env, client) = hasty(limits).await;
    let code = "const reasons = []; \
                for (let n = 0; n < 4; n++) { \
                    const raw = await mux.fix.elicit({ message: 'anybody?' }); \
                    reasons.push(raw._meta['muxd/reason']); \
                } \
                return reasons";
    let run = client.start(code, false).await;
    let Outcome::Result(reasons) = client.outcome(&run).await else {
        panic!("it ends well");
    };
    // The first question has its own limit, the second what is left of the total, and the others nothing.
    let limits = [
        "(limits.ask)",
        "3s",
        "(limits.ask_total)",
        "(limits.ask_total)",
    ];
    for (reason, limit) in reasons.to_value().as_array().unwrap().iter().zip(limits) {
        assert!(reason.as_str().unwrap().contains(limit), "{reasons}");
    }
}
