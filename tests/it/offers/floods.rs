//! Servers that flood the daemon with notifications and questions.

use mux_proto::{AskKind, NoticeKind};
use mux_tests::{TestEnv, process};
use serde_json::json;

use super::{Client, with_offers};

/// The maximum growth of the daemon by a flood, in bytes.
const MOST_GROWTH: u64 = 48 << 20;

async fn without_growth(env: &TestEnv, act: impl AsyncFnOnce()) {
    let daemon = env.daemon().unwrap();
    let before = process::resident_bytes(daemon);
    act().await;
    assert_eq!(env.daemon(), Some(daemon), "another daemon");
    let grown = process::resident_bytes(daemon).saturating_sub(before);
    assert!(
        grown < MOST_GROWTH,
        "the daemon grew by {} MiB",
        grown >> 20
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_progress_and_logs_does_not_grow_the_daemon() {
    let (env, _) = with_offers("");
    let mut client = Client::listening(&env, &[]).await;
    client.call("echo", json!({ "text": "x" })).await;
    assert!(matches!(client.next().await, NoticeKind::Changed { .. }));
    without_growth(&env, async || {
        let strange = json!({ "steps": 100_000, "stranger": true });
        client.call("progress", strange).await;
        client.call("progress", json!({ "steps": 100_000 })).await;
        client.call("flood", json!({ "lines": 50_000 })).await;
    })
    .await;
    // Few notices are kept, a gap in their numbers shows the loss, and later notices arrive.
    let mut count = 0;
    let mut last = client.after;
    let mut gap = false;
    loop {
        let page = client.notices(0).await;
        let Some(end) = page.last() else { break };
        count += page.len();
        gap |= page.iter().any(|notice| {
            let jumps = notice.seq > last + 1;
            last = notice.seq;
            jumps
        });
        client.after = end.seq;
    }
    assert!(count <= 1_000 && gap, "{count} {gap}");
    client.call("log", json!({ "text": "after" })).await;
    assert!(matches!(client.next().await, NoticeKind::Log { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_questions_is_declined_beyond_the_limit() {
    let (env, _) = with_offers("");
    let deaf = Client::deaf(&env).await;
    deaf.call("echo", json!({ "text": "x" })).await;
    without_growth(&env, async || {
        let counts = deaf.call("elicit_often", json!({ "count": 20_000 })).await;
        assert_eq!(counts, json!({ "decline": 20_000 }));
    })
    .await;
    let mut client = Client::listening(&env, &[AskKind::Elicitation]).await;
    let mut call = client.begin("elicit_often", json!({ "count": 500 }));
    let mut open = Vec::new();
    while open.len() < 16 {
        open.push(client.question().await.0);
    }
    assert!(
        client.notices(100).await.is_empty(),
        "more than 16 are open"
    );
    // Questions that arrive when there is room again are asked.
    let answering = async {
        loop {
            match open.pop() {
                Some(ask) => client.answer(ask, super::accepted("x")).await.unwrap(),
                None => open.push(client.question().await.0),
            }
        }
    };
    let counts = tokio::select! {
        counts = &mut call => counts.unwrap().unwrap(),
        () = answering => unreachable!(),
    };
    let count = |action: &str| counts[action].as_u64().unwrap_or_default();
    assert!(count("accept") >= 16, "{counts}");
    assert_eq!(count("accept") + count("decline"), 500, "{counts}");
}
