//! Subscriptions of clients to resources.

use mux_proto::{Kind, NoticeKind};
use serde_json::json;

use super::with_offers;
use crate::client::Client;

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
    let home = with_offers("");
    let touch = json!({ "uri": URI });
    let starter = Client::deaf(&home).await;
    assert_eq!(starter.call("touch", touch.clone()).await, "false");
    let mut one = Client::listening(&home, &[]).await;
    let mut two = Client::listening(&home, &[]).await;
    one.subscribe(URI, true).await.unwrap();
    one.subscribe(URI, true).await.unwrap();
    two.subscribe(URI, true).await.unwrap();
    assert_eq!(home.asked("fix", "resources/subscribe"), 1);
    assert_eq!(one.call("touch", touch.clone()).await, "true");
    is_updated(&mut one).await;
    is_updated(&mut two).await;
    one.subscribe(URI, false).await.unwrap();
    one.subscribe(URI, false).await.unwrap();
    assert_eq!(one.call("touch", touch.clone()).await, "true");
    is_updated(&mut two).await;
    assert!(one.notices(0).await.is_empty());
    assert_eq!(home.asked("fix", "resources/unsubscribe"), 0);
    // The subscriptions of a client end with its connection.
    drop(two);
    for _ in 0..2000 {
        if home.asked("fix", "resources/unsubscribe") == 1 {
            break;
        }
        one.call("echo", json!({ "text": "still there" })).await;
    }
    assert_eq!(one.call("touch", touch).await, "false");
    assert_eq!(home.asked("fix", "resources/unsubscribe"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_session_renews_subscriptions() {
    let home = with_offers("");
    let mut client = Client::listening(&home, &[]).await;
    client.subscribe(URI, true).await.unwrap();
    home.kill("fix");
    client.until_ended("fix", 1).await;
    client.call("echo", json!({ "text": "awake" })).await;
    for _ in 0..2000 {
        if home.asked("fix", "resources/subscribe") == 2 {
            break;
        }
        client.call("echo", json!({ "text": "and now?" })).await;
    }
    assert_eq!(client.call("touch", json!({ "uri": URI })).await, "true");
    is_updated(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn subscription_survives_a_change_of_the_server_entry() {
    let home = with_offers("");
    let mut client = Client::listening(&home, &[]).await;
    client.subscribe(URI, true).await.unwrap();
    let config = std::fs::read_to_string(home.dirs.config_file()).unwrap();
    // The first change makes the entry invalid, the second one makes it valid again.
    home.write_config(&format!("{config}call_timeout = \"soon\"\n"));
    client.reload().await;
    home.write_config(&format!("{config}call_timeout = \"50s\"\n"));
    client.reload().await;
    client.call("echo", json!({ "text": "awake" })).await;
    for _ in 0..2000 {
        if home.asked("fix", "resources/subscribe") == 2 {
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
    let home = with_offers("");
    let client = Client::listening(&home, &[]).await;
    let error = client.subscribe("other://x", true).await.unwrap_err();
    assert_eq!(error.kind, Kind::NotFound);
    assert_eq!(error.path.as_deref(), Some("fix.resources/subscribe"));
    // The refusal is not stored: the subscription is requested again.
    client.subscribe("other://x", true).await.unwrap_err();
    assert_eq!(home.asked("fix", "resources/subscribe"), 2);
    let config = std::fs::read_to_string(home.dirs.config_file()).unwrap();
    home.write_config(&format!("{config}{rules}"));
    client.reload().await;
    let error = client.subscribe(URI, true).await.unwrap_err();
    assert_eq!(error.kind, Kind::Denied);
}
