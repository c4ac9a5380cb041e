//! Tool declarations: the tools that the daemon remembers, and the result types that it learns from calls.

use std::fs;

use mux_proto::{CallRequest, TypesRequest};
use serde_json::json;

use crate::{
    client::{Client, within},
    home::Home,
};

async fn types(client: &Client, paths: &[&str]) -> String {
    let request = TypesRequest {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
    };
    client.rpc.types(within(), request).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn types_of_another_server_definition_are_not_used() {
    let home = Home::with_fixtures(&[("fix", &[])]);
    let client = Client::deaf(&home).await;
    types(&client, &[]).await;
    assert!(client.server("fix").await.tools.is_some());
    drop(client);
    home.stop().await;
    let client = Client::deaf(&home).await;
    assert!(client.server("fix").await.tools.is_some(), "remembered");
    home.write_config(&home.fixture("fix", &["--tools", "5"]));
    client.reload().await;
    assert_eq!(client.server("fix").await.tools, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn types_that_cannot_be_stored_are_fetched_by_every_daemon() {
    let home = Home::with_fixtures(&[("fix", &[])]);
    fs::write(home.dirs.cache.join("types"), "no folder").unwrap();
    let client = Client::deaf(&home).await;
    let first = types(&client, &[]).await;
    drop(client);
    home.stop().await;
    let client = Client::deaf(&home).await;
    assert_eq!(client.server("fix").await.tools, None);
    assert_eq!(types(&client, &[]).await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_not_learned_from_failed_or_raw_calls() {
    let home = Home::with_fixtures(&[("fix", &[])]);
    let client = Client::deaf(&home).await;
    let list = json!({ "text": "[1, 2]" });
    let raw = client.begin_request(CallRequest {
        path: "fix.echo".into(),
        arguments: list.clone().into(),
        raw: true,
        ..CallRequest::default()
    });
    raw.await.unwrap().unwrap();
    client
        .fails("fail", json!({ "message": "{\"a\": 1}" }))
        .await;
    assert_eq!(client.call("echo", list).await, json!([1, 2]));
    // Types are learned concurrently with the call.
    let learned = loop {
        let types = types(&client, &["fix.echo"]).await;
        if types.contains("Result observed") {
            break types;
        }
    };
    assert!(learned.contains("Promise<Seen<number[]>>"), "{learned}");
    let fail = types(&client, &["fix.fail"]).await;
    assert!(!fail.contains("observed"), "{fail}");
    // A declared result type is used as it is.
    let sum = client.call("add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(sum, json!({ "sum": 3 }));
    let add = types(&client, &["fix.add"]).await;
    assert!(!add.contains("observed"), "{add}");
}
