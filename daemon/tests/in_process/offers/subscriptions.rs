//! Subscriptions of clients to resources.

use std::time::Duration;

use mux_proto::{Kind, NoticeKind};
use mux_tests::process;
use serde_json::json;

use super::{Client, asked, with_offers};

const URI: &str = "fix://text/hello";

async fn is_updated(client: &mut Client) {
    loop {
        match client.next().await {
            NoticeKind::Changed { .. } => {}
            NoticeKind::ResourceUpdated { server, uri } => {
                assert_eq!((server.as_str(), uri.as_str()), ("fix", URI));
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_share_one_subscription_at_the_server() {
    let (env, log) = with_offers("");
    let touch = json!({ "uri": URI });
    let starter = Client::deaf(&env).await;
    assert_eq!(starter.call("touch", touch.clone()).await, "false");
    let mut one = Client::listening(&env, &[]).await;
    let mut two = Client::listening(&env, &[]).await;
    one.subscribe(URI, true).await.unwrap();
    one.subscribe(URI, true).await.unwrap();
    two.subscribe(URI, true).await.unwrap();
    assert_eq!(asked(&log, "resources/subscribe"), 1);
    assert_eq!(one.call("touch", touch.clone()).await, "true");
    is_updated(&mut one).await;
    is_updated(&mut two).await;
    one.subscribe(URI, false).await.unwrap();
    one.subscribe(URI, false).await.unwrap();
    assert_eq!(one.call("touch", touch.clone()).await, "true");
    is_updated(&mut two).await;
    assert!(one.notices(0).await.is_empty());
    assert_eq!(asked(&log, "resources/unsubscribe"), 0);
    // The subscriptions of a client end with its connection.
    drop(two);
    for _ in 0..2000 {
        if asked(&log, "resources/unsubscribe") == 1 {
            break;
        }
        one.call("echo", json!({ "text": "still there" })).await;
    }
    assert_eq!(one.call("touch", touch).await, "false");
    assert_eq!(asked(&log, "resources/unsubscribe"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_session_renews_subscriptions() {
    let (env, log) = with_offers("");
    let mut client = Client::listening(&env, &[]).await;
    client.subscribe(URI, true).await.unwrap();
    let pid = env.starts("fix")[0];
    process::kill(pid);
    assert!(process::wait_for_end(pid, Duration::from_secs(5)));
    client.call("echo", json!({ "text": "awake" })).await;
    for _ in 0..2000 {
        if asked(&log, "resources/subscribe") == 2 {
            break;
        }
        client.call("echo", json!({ "text": "and now?" })).await;
    }
    assert_eq!(client.call("touch", json!({ "uri": URI })).await, "true");
    is_updated(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn subscription_survives_a_change_of_the_server_entry() {
    let (env, log) = with_offers("");
    let mut client = Client::listening(&env, &[]).await;
    client.subscribe(URI, true).await.unwrap();
    let config = std::fs::read_to_string(env.dirs.config_file()).unwrap();
    // The first change makes the entry invalid, the second one makes it valid again.
    env.write_config(&format!("{config}call_timeout = \"soon\"\n"));
    env.mux(["reload"]).ok();
    env.write_config(&format!("{config}call_timeout = \"50s\"\n"));
    env.mux(["reload"]).ok();
    client.call("echo", json!({ "text": "awake" })).await;
    for _ in 0..2000 {
        if asked(&log, "resources/subscribe") == 2 {
            break;
        }
        client.call("echo", json!({ "text": "and now?" })).await;
    }
    assert_eq!(client.call("touch", json!({ "uri": URI })).await, "true");
    is_updated(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_or_denied_subscription_is_not_kept() {
    let rules = "[[policy]]\nmatch = \"fix.resources/sub*\"\naction = \"deny\"\n";
    let (env, log) = with_offers("");
    let client = Client::listening(&env, &[]).await;
    let error = client.subscribe("other://x", true).await.unwrap_err();
    assert_eq!(error.kind, Kind::NotFound);
    assert_eq!(error.path.as_deref(), Some("fix.resources/subscribe"));
    // The refusal is not stored: the subscription is requested again.
    client.subscribe("other://x", true).await.unwrap_err();
    assert_eq!(asked(&log, "resources/subscribe"), 2);
    let config = std::fs::read_to_string(env.dirs.config_file()).unwrap();
    env.write_config(&format!("{config}{rules}"));
    env.mux(["reload"]).ok();
    let error = client.subscribe(URI, true).await.unwrap_err();
    assert_eq!(error.kind, Kind::Denied);
}
