//! The user accepts exactly the change that was reviewed.

use mux_proto::{AcceptPinsRequest, Kind, PinInfo, PinStanding, PinsRequest, SeenTool};
use serde_json::json;

use super::{POISON, PinnedServer, poison};
use crate::client::within;

async fn seen(pinned: &PinnedServer) -> PinInfo {
    let request = PinsRequest {
        server: "fix".into(),
        current: true,
    };
    let list = pinned.client.rpc.pins(within(), request);
    let mut tools = list.await.unwrap().unwrap().tools.into_iter();
    tools.find(|tool| tool.name == "echo").unwrap()
}

fn accepting(digest: &str, name: &str) -> AcceptPinsRequest {
    AcceptPinsRequest {
        server: "fix".into(),
        tools: vec![SeenTool {
            name: name.into(),
            digest: digest.into(),
        }],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn change_during_review_is_not_accepted() {
    let pinned = PinnedServer::poisoned("").await;
    let echo = seen(&pinned).await;
    assert_eq!(echo.standing, PinStanding::Refused);
    assert!(echo.before.unwrap().contains("Returns its text."));
    assert!(echo.now.unwrap().contains(POISON));

    let mut worse = poison();
    worse["echo"]["list"]["title"] = json!("WORSE");
    pinned.change(&worse).await;
    let digest = echo.digest.unwrap();
    for (request, kind) in [
        (accepting(&digest, "echo"), Kind::Validation),
        (accepting("rubbish", "echo"), Kind::Validation),
        (accepting(&"0".repeat(64), "add"), Kind::Validation),
        (accepting(&digest, "nope"), Kind::NotFound),
    ] {
        let answer = pinned.client.rpc.accept_pins(within(), request);
        assert_eq!(answer.await.unwrap().unwrap_err().kind, kind);
    }
    pinned.echo_is_refused().await;
    let echo = seen(&pinned).await;
    let request = accepting(&echo.digest.unwrap(), "echo");
    let accepted = pinned.client.rpc.accept_pins(within(), request);
    assert_eq!(accepted.await.unwrap().unwrap().tools, 1);
    pinned.echo().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_with_another_name_has_the_pin_of_the_servers_own_name() {
    let pinned = PinnedServer::new("[servers.fix.override.echo]\nname = \"repeat\"").await;
    let text = pinned
        .client
        .call("repeat", json!({ "text": "hello" }))
        .await;
    assert_eq!(text, "hello");
    assert_eq!(pinned.standing("repeat").await, PinStanding::Trusted);

    pinned.change(&poison()).await;
    let error = pinned
        .client
        .fails("repeat", json!({ "text": "hello" }))
        .await;
    assert_eq!(error.kind, Kind::Denied, "{error:?}");
    assert_eq!(pinned.accept_all().await, 1);
    assert_eq!(pinned.standing("repeat").await, PinStanding::Trusted);
    // The acceptance is of the server's tool, whatever the user calls it.
    let text = pinned
        .client
        .call("repeat", json!({ "text": "hello" }))
        .await;
    assert_eq!(text, "hello");
}
