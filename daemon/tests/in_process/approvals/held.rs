//! A call is held until any client answers.

use std::path::Path;

use mux_proto::{ApprovalEnding, ApprovalState, Decision, Event, EventKind, Kind, RunState};
use serde_json::json;

use super::{asking, by, held, records};
use crate::client::{Client, within};

#[cfg(unix)]
fn assert_private(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Files inherit the access list of their directory.
#[cfg(windows)]
fn assert_private(file: &Path) {
    assert!(file.is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn held_call_of_a_run_is_listed_and_sent_when_another_client_approves_it() {
    let home = asking("[limits]\nwall = \"1s\"\n");
    let client = Client::deaf(&home).await;
    let other = Client::deaf(&home).await;
    let run = client.start_steps(&[("fix.counter", by(2))], false).await;
    let one = other.approvals_once(1).await.remove(0);
    assert_eq!(
        (one.approval.as_str(), one.state),
        ("A1", ApprovalState::Waiting)
    );
    assert_eq!(
        (one.path.as_str(), one.client.as_str()),
        ("fix.counter", "mux")
    );
    assert_eq!((one.arguments, one.run), (Some(by(2)), Some(run.clone())));
    assert!(one.left_ms.unwrap() > 60_000 && one.rule.contains("fix.counter"));
    // The call is listed before its run reports that it waits.
    let asked = |event: &Event| matches!(event.event, EventKind::ApprovalAsked(_));
    other.events_until(&run, asked).await;
    let info = other
        .rpc
        .run_info(within(), run.clone())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((info.state, info.approvals), (RunState::Running, 1));
    let record = home.dirs.history();
    assert_private(&record);
    // The run's limit of one second is paused.
    for _ in 0..3 {
        other.call("sleep", json!({ "ms": 500 })).await;
    }
    assert_eq!(home.called("fix", "counter"), 0);
    other.decide("A1", Decision::Once).await.unwrap();
    let events = client.events(&run).await;
    let over = |kind: &EventKind| matches!(kind, EventKind::ApprovalOver(over) if over.ending == ApprovalEnding::Approved);
    assert!(events.iter().any(|event| over(&event.event)), "{events:?}");
    assert_eq!(client.summary(&run).await["result"], "2");
    assert_eq!((home.called("fix", "counter"), records(&home)), (1, 0));
    let info = other.rpc.run_info(within(), run).await.unwrap().unwrap();
    assert_eq!(info.approvals, 0);
    other.approvals_once(0).await;
    let error = other.decide("A1", Decision::Once).await.unwrap_err();
    assert!(
        error.message.contains("there is no approval `A1`"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_call_is_never_sent_and_fails_with_the_reason() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let (call, _) = held(&client, by(1)).await;
    let why = Some("not before Friday");
    client
        .decide_because("A1", Decision::Deny, why)
        .await
        .unwrap();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(
        (error.kind.known(), error.recoverable),
        (Some(Kind::Denied), false)
    );
    let said = "fix.counter was denied by the user: not before Friday";
    assert!(error.message.contains(said), "{error:?}");
    // Approval names are read regardless of case.
    let run = client.start_steps(&[("fix.counter", by(1))], false).await;
    client.approvals_once(1).await;
    client.decide("a2", Decision::Deny).await.unwrap();
    assert_eq!(client.failure(&run).await.kind, Kind::Denied);
    assert_eq!((home.called("fix", "counter"), records(&home)), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_held_calls_of_one_run_are_answered_in_any_order() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let step = |id: &str, arguments| json!({ "id": id, "tool": "fix.counter", "args": arguments, "after": [] });
    let steps = [step("a", by(1)), step("b", json!({ "key": "b", "by": 5 }))];
    let run = client.start(&json!({ "steps": steps }), false).await;
    let waiting = client.approvals_once(2).await;
    client
        .decide(&waiting[1].approval, Decision::Once)
        .await
        .unwrap();
    client.approvals_once(1).await;
    client
        .decide(&waiting[0].approval, Decision::Once)
        .await
        .unwrap();
    let summary = client.summary(&run).await;
    let mut results = [0, 1].map(|step| summary["steps"][step]["result"].to_string());
    results.sort();
    assert_eq!(results, ["\"1\"", "\"5\""], "{summary}");
    assert_eq!((home.called("fix", "counter"), records(&home)), (2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_ends_when_its_run_is_cancelled_or_its_client_disconnects() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let other = Client::deaf(&home).await;
    let counter = [("fix.counter", by(1))];
    let run = client.start_steps(&counter, false).await;
    other.approvals_once(1).await;
    client
        .rpc
        .cancel_run(within(), run.clone())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(client.failure(&run).await.kind, Kind::Cancelled);
    other.approvals_once(0).await;
    client.start_steps(&counter, false).await;
    other.approvals_once(1).await;
    drop(client);
    other.approvals_once(0).await;
    // A call outside of runs is also held.
    let caller = Client::deaf(&home).await;
    let (call, _) = held(&caller, by(1)).await;
    call.abort();
    drop(caller);
    other.approvals_once(0).await;
    while records(&home) > 0 {
        other.approvals_once(0).await;
    }
    assert_eq!(home.called("fix", "counter"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn call_outside_runs_is_held() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let (call, one) = held(&client, by(7)).await;
    assert_eq!((one.run, one.arguments), (None, Some(by(7))));
    client.decide("A1", Decision::Once).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap(), "7");
    // An invalid call fails without a question.
    let error = client.fails("counter", json!({ "by": 7 })).await;
    assert_eq!(error.kind, Kind::Validation);
    client.approvals_once(0).await;
    assert_eq!(home.called("fix", "counter"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_held_calls_are_enforced_and_named() {
    let home = asking("[approvals]\nheld_per_run = 1\nheld = 2\n");
    let client = Client::deaf(&home).await;
    let step = |id: &str| json!({ "id": id, "tool": "fix.counter", "args": by(1), "after": [], "on_error": "continue" });
    let run = client
        .start(&json!({ "steps": [step("a"), step("b")] }), false)
        .await;
    client.approvals_once(1).await;
    // The run's other call is refused immediately.
    let refused = |event: &Event| matches!(event.event, EventKind::StepEnded { .. });
    client.events_until(&run, refused).await;
    let second = client.begin("counter", by(1));
    client.approvals_once(2).await;
    let error = client.fails("counter", by(1)).await;
    assert_eq!(error.kind, Kind::Busy);
    assert!(
        error.message.contains("2 others wait (approvals.held)"),
        "{error:?}"
    );
    for approval in ["A1", "A2"] {
        client.decide(approval, Decision::Deny).await.unwrap();
    }
    let output = format!("{:?}", client.outcome(&run).await);
    assert!(output.contains("approvals.held_per_run"), "{output}");
    assert_eq!(second.await.unwrap().unwrap_err().kind, Kind::Denied);
    assert_eq!(home.called("fix", "counter"), 0);
}
