//! Progress, logs and change notifications of servers of both eras.

use mux_proto::{Kind, NoticeKind, OfferKind};
use serde_json::json;

use super::{BOTH, LEGACY, MODERN, home_of};
use crate::client::Client;

const URI: &str = "fix://text/hello";

#[tokio::test(flavor = "multi_thread")]
async fn progress_and_logs_arrive_during_a_call() {
    for era in BOTH {
        let home = home_of(era, &[]);
        let mut client = Client::ready(&home, &[]).await;
        client.call("progress", json!({ "steps": 3 })).await;
        let mut last = 0.0;
        while last < 3.0 {
            match client.next().await {
                NoticeKind::Progress { progress, .. } => last = progress,
                other => panic!("{era}: {other:?}"),
            }
        }
        client.call("log", json!({ "text": "hello" })).await;
        let NoticeKind::Log { data, .. } = client.next().await else {
            panic!("{era}: something else");
        };
        assert_eq!(data, json!({ "text": "hello" }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn abandoned_call_is_cancelled_at_the_server() {
    for era in BOTH {
        let home = home_of(era, &[]);
        let client = Client::ready(&home, &[]).await;
        let call = client.begin("hang", json!({}));
        client.until_waiting(1).await;
        call.abort();
        let mut cancelled = json!([]);
        for _ in 0..2000 {
            cancelled = client.call("cancelled", json!({})).await;
            if cancelled != json!([]) {
                break;
            }
        }
        assert_eq!(cancelled.as_array().map(Vec::len), Some(1), "{era}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_every_list_are_reported() {
    for era in BOTH {
        let home = home_of(era, &[]);
        let mut client = Client::ready(&home, &[]).await;
        for what in ["tools", "resources", "prompts"] {
            client.call("announce", json!({ "what": what })).await;
            let NoticeKind::Changed {
                tools,
                resources,
                prompts,
            } = client.next().await
            else {
                panic!("{era}: something else");
            };
            let output = [
                ("tools", tools),
                ("resources", resources),
                ("prompts", prompts),
            ];
            assert!(output.contains(&(what, true)), "{era} {what}: {output:?}");
        }
    }
}

async fn is_updated(client: &mut Client, uri: &str) {
    loop {
        match client.next().await {
            NoticeKind::ResourceUpdated { uri: output, .. } => return assert_eq!(output, uri),
            NoticeKind::Changed { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_subscription_lasts_until_the_last_subscriber() {
    for era in BOTH {
        let home = home_of(era, &[]);
        let mut one = Client::ready(&home, &[]).await;
        let mut two = Client::listening(&home, &[]).await;
        let touch = json!({ "uri": URI });
        assert_eq!(one.call("touch", touch.clone()).await, "false", "{era}");
        one.subscribe(URI, true).await.unwrap();
        two.subscribe(URI, true).await.unwrap();
        two.subscribe("fix://json", true).await.unwrap();
        assert_eq!(one.call("touch", touch.clone()).await, "true", "{era}");
        is_updated(&mut one, URI).await;
        is_updated(&mut two, URI).await;
        let unknown = one.subscribe("elsewhere://x", true).await.unwrap_err();
        assert_eq!(unknown.kind, Kind::NotFound, "{era}: {}", unknown.message);
        one.subscribe(URI, false).await.unwrap();
        assert_eq!(one.call("touch", touch.clone()).await, "true", "{era}");
        is_updated(&mut two, URI).await;
        two.subscribe(URI, false).await.unwrap();
        for _ in 0..2000 {
            if one.call("touch", touch.clone()).await == "false" {
                break;
            }
        }
        assert_eq!(one.call("touch", touch).await, "false", "{era}");
        assert_eq!(
            two.call("touch", json!({ "uri": "fix://json" })).await,
            "true"
        );
        is_updated(&mut two, "fix://json").await;
        if era == LEGACY {
            assert_eq!(home.asked("fix", "resources/subscribe"), 3);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn listen_stream_ended_by_the_server_is_reopened() {
    for quiet in [false, true] {
        let home = home_of(MODERN, &[]);
        let mut client = Client::ready(&home, &[]).await;
        client.subscribe(URI, true).await.unwrap();
        let before = home.asked("fix", "subscriptions/listen");
        client.call("hang_up", json!({ "quiet": quiet })).await;
        // Notifications in between are lost, so the resource is reported as updated.
        is_updated(&mut client, URI).await;
        assert_eq!(home.asked("fix", "subscriptions/listen"), before + 1);
        client.call("touch", json!({ "uri": URI })).await;
        is_updated(&mut client, URI).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_without_listen_support_still_works() {
    let home = home_of(MODERN, &["--deaf"]);
    let client = Client::ready(&home, &[]).await;
    assert_eq!(client.call("echo", json!({ "text": "x" })).await, "x");
    assert!(client.subscribe(URI, true).await.is_err());
    assert_eq!(home.asked("fix", "subscriptions/listen"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_list_is_requested_again() {
    for era in BOTH {
        let home = home_of(era, &["--ttl", "0"]);
        let client = Client::ready(&home, &[]).await;
        let resources = || async {
            let list = client.offers(OfferKind::Resources, None).await.unwrap();
            list.offers.len()
        };
        assert_eq!(resources().await, 6);
        for what in ["tools", "resources"] {
            client.call("grow", json!({ "what": what })).await;
        }
        let mut newer = Some(Kind::NotFound);
        let mut count = 6;
        for _ in 0..10_000 {
            let call = client.begin("new-1", json!({}));
            newer = call.await.unwrap().unwrap_err().kind.known();
            count = resources().await;
            if newer != Some(Kind::NotFound) && count == 7 {
                break;
            }
        }
        // The server lists the tool, but does not implement it.
        assert_eq!((newer, count), (Some(Kind::Tool), 7), "{era}");
    }
}
