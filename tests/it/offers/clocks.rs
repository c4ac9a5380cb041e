//! Limits that stand still while somebody is asked, and the one of the question itself.

use mux_proto::{AskKind, NoticeKind, Outcome};
use serde_json::json;

use super::{Client, accepted, with_offers};
use mux_tests::TestEnv;

/// A server whose calls may take a second, and a client that answers what it asks.
async fn hasty(limits: &str) -> (TestEnv, Client) {
    let (env, _) = with_offers(&format!("call_timeout = \"1s\"\n{limits}"));
    let client = Client::ready(&env, &[AskKind::Elicitation]).await;
    (env, client)
}

/// Three calls of which each takes half a second at the server: longer than a call may take.
async fn time_passes(env: &TestEnv) {
    let other = Client::deaf(env).await;
    for _ in 0..3 {
        let slept = other.begin("sleep", json!({ "ms": 500 }));
        slept.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_call_does_not_count_what_the_user_takes() {
    let (env, mut client) = hasty("").await;
    let call = client.begin("elicit", json!({ "message": "take your time" }));
    let (ask, ..) = client.question().await;
    time_passes(&env).await;
    client.answer(ask, accepted("Ada")).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap()["content"]["name"], "Ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_the_wall_time_of_a_run() {
    let (env, mut client) = hasty("[limits]\nwall = \"1s\"\n").await;
    let code = "return (await mux.fix.elicit({ message: '?' })).content.name";
    let run = client.start(code, false).await;
    let (ask, ..) = client.question().await;
    time_passes(&env).await;
    client.answer(ask, accepted("Ada")).await.unwrap();
    assert_eq!(client.outcome(&run).await, Outcome::Result(json!("Ada")));
    // What the program takes itself is counted as ever.
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
async fn a_question_has_a_limit_which_the_server_is_told() {
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
async fn all_questions_of_a_run_have_a_limit_together_which_the_server_is_told() {
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
    // The first has its own limit, the second what is left, and the others nothing.
    let limits = [
        "(limits.ask)",
        "3s",
        "(limits.ask_total)",
        "(limits.ask_total)",
    ];
    for (reason, limit) in reasons.as_array().unwrap().iter().zip(limits) {
        assert!(reason.as_str().unwrap().contains(limit), "{reasons}");
    }
}
