//! Approvals for this session, and lasting grants.

use std::fs;

use mux_proto::{Decision, Kind};
use serde_json::json;

use super::{asking, by, change, held};
use crate::client::Client;

/// Has a call held, and approved always.
async fn approve_always(client: &Client, arguments: serde_json::Value) {
    let (call, one) = held(client, arguments).await;
    client
        .decide(&one.approval, Decision::Always)
        .await
        .unwrap();
    call.await.unwrap().unwrap();
}

/// Has a call held, and denied.
async fn is_asked_again(client: &Client, arguments: serde_json::Value) {
    let (call, one) = held(client, arguments).await;
    client.decide(&one.approval, Decision::Deny).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap_err().kind, Kind::Denied);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_approval_ends_with_the_connection() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let (call, _) = held(&client, by(1)).await;
    client.decide("A1", Decision::Session).await.unwrap();
    call.await.unwrap().unwrap();
    client.call("counter", by(1)).await;
    drop(client);
    is_asked_again(&Client::deaf(&home).await, by(1)).await;
    assert_eq!(home.called("fix", "counter"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_tool_or_rule_needs_approval_again() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    approve_always(&client, by(1)).await;
    client.call("counter", by(1)).await;
    let changes = json!({ "counter": { "list": { "description": "Does something else." } } });
    fs::write(home.path("changes.json"), changes.to_string()).unwrap();
    client.call("list_changed", json!({})).await;
    is_asked_again(&client, by(1)).await;
    fs::remove_file(home.path("changes.json")).unwrap();
    client.call("list_changed", json!({})).await;
    client.call("counter", by(1)).await;
    change(&home, &client, "fix.counter", "fix.count*").await;
    is_asked_again(&client, by(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn call_is_not_sent_if_its_tool_changes_while_held() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let (call, _) = held(&client, by(1)).await;
    let changes = json!({ "counter": { "list": { "description": "Does something else." } } });
    fs::write(home.path("changes.json"), changes.to_string()).unwrap();
    client.call("list_changed", json!({})).await;
    client.decide("A1", Decision::Once).await.unwrap();
    call.await.unwrap().unwrap_err();
    assert_eq!(home.called("fix", "counter"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_does_not_override_a_deny_rule_added_meanwhile() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let (call, _) = held(&client, by(1)).await;
    change(&home, &client, "\"ask\"", "\"deny\"").await;
    client.decide("A1", Decision::Once).await.unwrap();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind, Kind::Denied);
    assert!(error.message.contains("denied by the policy"), "{error:?}");
    assert_eq!(home.called("fix", "counter"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn grant_covers_only_the_rule_that_required_approval() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let rule = "match = \"fix.counter\"\naction = \"ask\"\n";
    let two = format!(
        "{rule}arguments = {{ by = {{ under = 10 }} }}\n[[policy]]\n{rule}arguments = {{ by = {{ over = 999 }} }}\n"
    );
    change(&home, &client, rule, &two).await;
    approve_always(&client, by(1)).await;
    client.call("counter", by(2)).await;
    is_asked_again(&client, by(5_000)).await;
    assert_eq!(home.called("fix", "counter"), 2);
    // A changed condition makes it a different rule.
    change(&home, &client, "under = 10", "under = 100").await;
    is_asked_again(&client, by(1)).await;
    change(&home, &client, "under = 100", "under = 10").await;
    client.call("counter", by(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn grant_covers_only_the_unchanged_server_entry() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let entry = "pins = \"off\"\n";
    let staged = format!("{entry}env = {{ STAGE = \"test\" }}\n");
    change(&home, &client, entry, &staged).await;
    approve_always(&client, by(1)).await;
    client.call("counter", by(1)).await;
    // Settings that do not affect how the server is reached do not matter.
    let patient = format!("{entry}call_timeout = \"3m\"\n");
    change(&home, &client, entry, &patient).await;
    client.call("counter", by(1)).await;
    change(&home, &client, "\"test\"", "\"production\"").await;
    is_asked_again(&client, by(1)).await;
    assert_eq!(home.called("fix", "counter"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn grant_covers_only_one_agent() {
    let home = asking("");
    let user = Client::deaf(&home).await;
    approve_always(&user, by(1)).await;
    let small = Client::agent(&home, "small").await;
    let call = small.begin("counter", by(1));
    let one = user.approvals_once(1).await.remove(0);
    user.decide(&one.approval, Decision::Always).await.unwrap();
    call.await.unwrap().unwrap();
    small.call("counter", by(1)).await;
    let other = Client::agent(&home, "other").await;
    let _call = other.begin("counter", by(1));
    let one = user.approvals_once(1).await.remove(0);
    assert_eq!(one.agent.as_deref(), Some("other"));
    assert_eq!(home.called("fix", "counter"), 3);
}
