//! Calls of a tool whose definition has changed are refused, whenever it changes.

use mux_proto::{Kind, PinStanding};
use serde_json::json;

use super::{POISON, PinnedServer, poison};
use crate::client::within;

#[tokio::test(flavor = "multi_thread")]
async fn change_is_detected_in_a_session_and_after_server_or_daemon_restart() {
    let mut pinned = PinnedServer::poisoned("").await;
    pinned.echo_is_refused().await;
    // The original definition is trusted again, and a restarted server is checked again.
    pinned.change(&json!({})).await;
    pinned.echo().await;
    std::fs::write(&pinned.changes, poison().to_string()).unwrap();
    let restarted = pinned.client.rpc.restart_server(within(), "fix".into());
    restarted.await.unwrap().unwrap();
    pinned.echo_is_refused().await;
    // The next daemon also checks the tool, and shows it as refused before it has listed the tools.
    pinned.restart().await;
    assert_eq!(pinned.standing("echo").await, PinStanding::Refused);
    pinned.echo_is_refused().await;
    std::fs::write(&pinned.changes, "{}").unwrap();
    pinned.restart().await;
    pinned.echo().await;
    assert_eq!(pinned.home.called("fix", "echo"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn change_in_the_middle_of_a_program_is_detected() {
    let pinned = PinnedServer::new("").await;
    let changes = pinned.changes.to_str().unwrap();
    let mark = json!({ "file": changes, "line": poison().to_string() });
    let echo = || ("fix.echo", json!({ "text": "hello" }));
    let program = [
        echo(),
        ("fix.side_effect", mark),
        ("fix.list_changed", json!({})),
        echo(),
    ];
    let run = pinned.client.start_steps(&program, false).await;
    assert_eq!(pinned.client.failure(&run).await.kind, Kind::Denied);
    assert_eq!(pinned.home.called("fix", "echo"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn reordered_members_and_reappearing_tools_are_no_change() {
    let pinned = PinnedServer::new("").await;
    pinned.echo().await;
    let schema = json!({ "required": ["text"], "properties": { "text": { "type": "string" } }, "type": "object" });
    let same = json!({
        "description": "Returns its text.", "annotations": { "readOnlyHint": true }, "inputSchema": schema,
    });
    pinned.change(&json!({ "echo": { "list": same } })).await;
    pinned.echo().await;
    assert_eq!(pinned.standing("echo").await, PinStanding::Trusted);
    pinned.change(&json!({ "echo": { "list": null } })).await;
    let error = pinned.client.fails("echo", json!({ "text": "x" })).await;
    assert_eq!(error.kind, Kind::NotFound);
    pinned.change(&json!({})).await;
    pinned.echo().await;
    let warnings = pinned.warnings().await;
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn change_of_any_definition_member_is_detected() {
    let pinned = PinnedServer::new("").await;
    pinned.echo().await;
    for member in [
        json!({ "title": "Echo" }),
        json!({ "description": "Returns its text!" }),
        json!({ "description": null }),
        json!({ "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } } }),
        json!({ "annotations": { "readOnlyHint": true, "openWorldHint": false } }),
        json!({ "icons": [{ "src": "https://example.com/i.png" }] }),
        json!({ "_meta": { "a/b": 1 } }),
    ] {
        pinned.change(&json!({ "echo": { "list": member } })).await;
        pinned.echo_is_refused().await;
    }
    pinned.change(&json!({})).await;
    pinned.echo().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_sent_after_a_change_is_announced() {
    let pinned = PinnedServer::new("calls_at_once = 3").await;
    pinned.echo().await;
    let echo = || pinned.client.begin("echo", json!({ "text": "hello" }));
    // Many calls are in flight or queued when the change is announced, and 100 follow right after it.
    let mut early: Vec<_> = (0..40).map(|_| echo()).collect();
    std::fs::write(&pinned.changes, poison().to_string()).unwrap();
    let output = pinned.client.begin("list_changed", json!({}));
    early.extend((0..40).map(|_| echo()));
    output.await.unwrap().unwrap();
    let late: Vec<_> = (0..100).map(|_| echo()).collect();
    for call in late {
        assert_eq!(call.await.unwrap().unwrap_err().kind, Kind::Denied);
    }
    for call in early {
        if let Err(error) = call.await.unwrap() {
            assert_eq!(error.kind, Kind::Denied);
        }
    }
    let requests = pinned.home.requests("fix");
    let announced = requests
        .iter()
        .position(|request| request["announced"] == "tools");
    let after = requests[announced.unwrap()..].iter();
    let after = after.filter(|request| request["tool"] == "echo").count();
    // Only calls that were sent before the announcement arrived. At most three run at the same time.
    assert!(after <= 3, "{after} of {requests:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_tool_is_reported_until_it_is_accepted() {
    let mut pinned = PinnedServer::new("").await;
    pinned.echo().await;
    let later = json!({ "description": "Came later.", "inputSchema": { "type": "object" } });
    let result = json!({ "content": [{ "type": "text", "text": "late" }] });
    pinned
        .change(&json!({ "later": { "list": later, "result": result } }))
        .await;
    pinned.client.call("later", json!({})).await;
    pinned.restart().await;
    pinned.client.call("later", json!({})).await;
    assert_eq!(pinned.standing("later").await, PinStanding::New);
    let warnings = pinned.warnings().await;
    let said = "1 tool is new since its server was first trusted: later";
    assert!(warnings[0].contains(said), "{warnings:?}");
    assert_eq!(pinned.accept_all().await, 1);
    assert_eq!(pinned.standing("later").await, PinStanding::Trusted);
    assert!(pinned.warnings().await.is_empty());
    let other = json!({ "inputSchema": { "type": "object" } });
    pinned
        .change(&json!({ "later": { "list": other, "result": result } }))
        .await;
    let error = pinned.client.fails("later", json!({})).await;
    assert!(
        error
            .message
            .contains("fix.later has changed since you first trusted it"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pins_setting_decides_what_happens_on_a_change() {
    let pinned = PinnedServer::poisoned("pins = \"warn\"").await;
    pinned.echo().await;
    assert_eq!(pinned.standing("echo").await, PinStanding::Changed);
    let warnings = pinned.warnings().await;
    let said = "1 tool is not what was first trusted: echo";
    assert!(warnings[0].contains(said), "{warnings:?}");
    assert!(pinned.types(&["fix.echo"]).await.contains(POISON));

    let pinned = PinnedServer::poisoned("pins = \"off\"").await;
    pinned.echo().await;
    assert_eq!(pinned.standing("echo").await, PinStanding::Unpinned);
    assert!(pinned.warnings().await.is_empty());
    assert!(!pinned.home.dirs.pins().exists(), "nothing is written down");

    let pinned = PinnedServer::poisoned("[pins]\non_change = \"off\"\n").await;
    pinned.echo().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_server_entry_gets_new_pins() {
    let pinned = PinnedServer::poisoned("").await;
    pinned.echo_is_refused().await;
    let config = std::fs::read_to_string(pinned.home.dirs.config_file()).unwrap();
    let other = config.replace("\"--call-log\"", "\"--name\",\"other\",\"--call-log\"");
    assert_ne!(config, other);
    pinned.home.write_config(&other);
    pinned.client.reload().await;
    pinned.echo().await;
    // With the original entry the original pins apply.
    pinned.home.write_config(&config);
    pinned.client.reload().await;
    pinned.echo_is_refused().await;
}
