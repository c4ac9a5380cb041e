//! Notices to clients: changes of the pool, progress, logs.

use std::time::{Duration, Instant};

use mux_proto::{AskKind, Cause, EventKind, NoticeKind, OfferKind};
use serde_json::json;

use super::with_offers;
use crate::{client::Client, home::Home};

fn changed(notice: &NoticeKind) -> [bool; 3] {
    match notice {
        NoticeKind::Changed {
            tools,
            resources,
            prompts,
        } => [*tools, *resources, *prompts],
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_listener_is_notified_of_list_changes() {
    let home = with_offers("");
    let mut one = Client::listening(&home, &[]).await;
    let deaf = Client::deaf(&home).await;
    assert_eq!(
        deaf.offers(OfferKind::Resources, None)
            .await
            .unwrap()
            .offers
            .len(),
        6
    );
    // The tools of a server that was never started become known.
    assert_eq!(changed(&one.next().await), [true, false, false]);
    let mut two = Client::listening(&home, &[]).await;
    for (what, flags) in [
        ("tools", [true, false, false]),
        ("resources", [false, true, false]),
        ("prompts", [false, false, true]),
    ] {
        deaf.call("announce", json!({ "what": what })).await;
        assert_eq!(changed(&one.next().await), flags, "{what}");
        assert_eq!(changed(&two.next().await), flags, "{what}");
    }
    let list = deaf.offers(OfferKind::Resources, None).await.unwrap();
    assert_eq!(list.offers[6].offer["uri"], "fix://new/1");
    let list = deaf.offers(OfferKind::Prompts, None).await.unwrap();
    assert_eq!(list.offers.len(), 2);
    // Types that are learned from call results do not count as changed tools.
    deaf.call("echo", json!({ "text": "{\"a\":1}" })).await;
    deaf.call("announce", json!({ "what": "prompts" })).await;
    assert_eq!(changed(&one.next().await), [false, false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_tools_list_causes_no_notice() {
    let home = with_offers("");
    let listed = || Home::log().matches("the tools were listed again").count();
    let client = Client::ready(&home, &[]).await;
    client.call("list_changed", json!({})).await;
    let begun = Instant::now();
    while listed() < 1 {
        assert!(begun.elapsed() < Duration::from_secs(30));
        client.call("echo", json!({ "text": "and now?" })).await;
    }
    assert!(client.notices(300).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_tools_list_is_requested_again_after_the_next_notification() {
    let home = Home::new();
    let fix = home.fixture("fix", &["--list-once"]);
    home.write_config(&format!("{fix}start_timeout = \"1s\"\n"));
    let client = Client::ready(&home, &[]).await;
    for times in 1..=2 {
        client.call("list_changed", json!({})).await;
        let begun = Instant::now();
        while home.asked("fix", "tools/list") < times {
            assert!(begun.elapsed() < Duration::from_secs(30));
            client.call("echo", json!({ "text": "and now?" })).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_change_and_shorter_list_of_a_new_session_cause_notices() {
    let home = with_offers("");
    let deaf = Client::deaf(&home).await;
    deaf.call("announce", json!({ "what": "resources" })).await;
    let list = deaf.offers(OfferKind::Resources, None).await.unwrap();
    assert_eq!(list.offers.len(), 7);
    let mut one = Client::listening(&home, &[]).await;
    home.kill("fix");
    // A call that was sent before this would have an unknown outcome.
    one.until_ended("fix", 1).await;
    // Its next session has one resource less.
    one.call("echo", json!({ "text": "x" })).await;
    assert_eq!(changed(&one.next().await), [false, true, false]);
    let config = std::fs::read_to_string(home.dirs.config_file()).unwrap();
    home.write_config(&format!("{config}{}", home.fixture("other", &[])));
    one.reload().await;
    assert_eq!(changed(&one.next().await), [true, true, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_of_a_call_with_a_token_is_throttled_and_the_last_one_arrives() {
    let home = with_offers("");
    let mut client = Client::ready(&home, &[]).await;
    client.call("progress", json!({ "steps": 500 })).await;
    let mut words = 0;
    loop {
        let NoticeKind::Progress {
            cause,
            progress,
            total,
            message,
        } = client.next().await
        else {
            panic!("something else");
        };
        assert_eq!(cause, Cause::Call("token of progress".into()));
        assert_eq!(total, Some(500.0));
        assert_eq!(message.unwrap(), format!("step {progress}"));
        words += 1;
        if Some(progress) == total {
            break;
        }
    }
    assert!(words < 100, "{words}");
    assert!(client.notices(0).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_of_a_call_in_a_run_is_an_event_of_the_run() {
    let home = with_offers("");
    let client = Client::listening(&home, &[]).await;
    let progress = [("fix.progress", json!({ "steps": 300 }))];
    let run = client.start_steps(&progress, false).await;
    let events = client.events(&run).await;
    let kinds: Vec<_> = events.iter().map(|event| &event.event).collect();
    let last = kinds
        .iter()
        .rposition(|kind| matches!(kind, EventKind::CallProgress { .. }));
    let last = last.unwrap();
    let EventKind::CallProgress {
        path,
        progress,
        call,
        ..
    } = kinds[last]
    else {
        unreachable!();
    };
    assert_eq!(
        (path.as_str(), *progress, *call),
        ("fix.progress", 300.0, 1)
    );
    assert!(matches!(kinds[last + 1], EventKind::CallEnded { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn server_log_goes_to_the_file_and_to_the_only_waiting_client() {
    let home = with_offers("");
    let mut one = Client::ready(&home, &[AskKind::Roots]).await;
    let two = Client::listening(&home, &[]).await;
    one.call("log", json!({ "text": "for one" })).await;
    let NoticeKind::Log {
        server,
        level,
        logger,
        data,
        cause,
    } = one.next().await
    else {
        panic!("something else");
    };
    assert_eq!((server.as_str(), level.as_str()), ("fix", "warning"));
    assert_eq!(logger.as_deref(), Some("fixture"));
    assert_eq!(data, json!({ "text": "for one" }));
    assert_eq!(cause, Cause::Call("token of log".into()));
    let waiting = two.begin("hang", json!({}));
    one.until_waiting(1).await;
    one.call("log", json!({ "text": "for nobody" })).await;
    assert!(one.notices(0).await.is_empty());
    assert!(two.notices(0).await.is_empty());
    waiting.abort();
    let log = std::fs::read_to_string(home.dirs.logs().join("servers/fix.log"));
    let log = log.or_else(|_| std::fs::read_to_string(home.dirs.logs().join("fix.log")));
    assert!(log.unwrap().contains("for nobody"));
}
