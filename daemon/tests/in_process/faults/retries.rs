//! Calls whose server dies before it answers: which are sent again depends on the tool and on `retry`.

use mux_proto::EventKind;
use serde_json::{Value, json};

use crate::{client::Client, home::Home};

/// Calls a tool in which the first instance dies. Returns how often the call arrived, and its result or error kind.
async fn outcome(tool: &str, retry: &str) -> (usize, Value) {
    let home = Home::new();
    let starts = home.path("starts");
    let flags = ["--die-first", "--pid-file", starts.to_str().unwrap()];
    home.write_config(&format!("{}{retry}", home.fixture("fix", &flags)));
    let arguments = match tool {
        "die_once" => json!({ "file": home.path("mark") }),
        _ => json!({}),
    };
    let client = Client::deaf(&home).await;
    let ended = client.try_call(tool, arguments).await;
    let ended = ended.unwrap_or_else(|error| json!(error.kind));
    (home.called("fix", tool), ended)
}

#[tokio::test(flavor = "multi_thread")]
async fn call_is_sent_again_if_both_the_tool_and_the_config_allow_it() {
    const READ_ONLY: &str = "retry = \"read_only\"\n";
    const IDEMPOTENT: &str = "retry = \"idempotent\"\n";
    for (tool, retry, arrived, ended) in [
        ("die_first", "", 1, "unknown_outcome"),
        ("die_first", READ_ONLY, 2, "alive"),
        ("die_first", IDEMPOTENT, 2, "alive"),
        ("die_once", "", 1, "unknown_outcome"),
        ("die_once", READ_ONLY, 1, "unknown_outcome"),
        ("die_once", IDEMPOTENT, 2, "alive"),
        // This tool has no annotations.
        ("die_before", IDEMPOTENT, 1, "unknown_outcome"),
    ] {
        let expected = (arrived, json!(ended));
        assert_eq!(outcome(tool, retry).await, expected, "{tool} {retry}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_is_sent_again_is_reported_to_the_run() {
    let home = Home::new();
    let starts = home.path("starts");
    let flags = ["--die-first", "--pid-file", starts.to_str().unwrap()];
    let fix = home.fixture("fix", &flags);
    home.write_config(&format!("{fix}retry = \"read_only\"\n"));
    let client = Client::deaf(&home).await;
    let run = client
        .start_steps(&[("fix.die_first", json!({}))], false)
        .await;
    let events = client.events(&run).await;
    let is_resend = |kind: &EventKind| matches!(kind, EventKind::Console { text, .. } if text.contains("fix.die_first is sent again"));
    assert!(
        events.iter().any(|event| is_resend(&event.event)),
        "{events:?}"
    );
    assert_eq!(client.summary(&run).await["result"], "alive");
}
