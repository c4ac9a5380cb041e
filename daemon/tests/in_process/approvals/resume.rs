//! A run whose approval is not answered in time ends as pending, and can be resumed without repeating a call.

use mux_proto::{ApprovalState, Decision, Error, EventKind, Kind, ResumeRequest};
use serde_json::json;

use super::{MARKS, SOON, asking, by, held, mark, marks, records};
use crate::client::{Client, within};

/// Resumes a run, and returns the id of the new one.
pub(super) async fn resume(client: &Client, id: &str) -> Result<String, Error> {
    let request = ResumeRequest {
        id: id.into(),
        detach: false,
    };
    let resumed = client.rpc.resume_run(within(), request);
    resumed.await.unwrap().map(|resumed| resumed.run)
}

#[tokio::test(flavor = "multi_thread")]
async fn unanswered_run_is_resumed_without_repeating_calls() {
    let home = asking(&format!("{MARKS}{SOON}"));
    let client = Client::deaf(&home).await;
    let program = [
        mark(&home, "before"),
        ("fix.counter", by(3)),
        mark(&home, "after"),
    ];
    let run = client.start_steps(&program, false).await;
    let error = client.failure(&run).await;
    assert_eq!(error.kind, Kind::Pending);
    assert!(error.message.contains("approvals.wait"), "{error:?}");
    assert_eq!(
        (marks(&home), records(&home)),
        (vec!["before".to_owned()], 1)
    );
    let listed = client.approvals_once(1).await.remove(0);
    assert_eq!(listed.state, ApprovalState::Pending);
    // Without an answer, resuming asks again under the same id and ends as pending again.
    let again = resume(&client, "A1").await.unwrap();
    assert_eq!(client.failure(&again).await.kind, Kind::Pending);
    assert_eq!((home.called("fix", "counter"), records(&home)), (0, 1));
    client.decide("A1", Decision::Once).await.unwrap();
    assert_eq!(
        client.approvals_once(1).await[0].state,
        ApprovalState::Approved
    );
    let twice = client.decide("A1", Decision::Once).await.unwrap_err();
    assert!(twice.message.contains("already answered"), "{twice:?}");
    let run = resume(&client, "A1").await.unwrap();
    let events = client.events(&run).await;
    let answered = events.iter().find_map(|event| match &event.event {
        EventKind::Resumed { calls, .. } => Some(*calls),
        _ => None,
    });
    assert_eq!(answered, Some(1), "calls from the record");
    assert_eq!(client.summary(&run).await["steps"][1]["result"], "3");
    assert_eq!(marks(&home), ["before", "after"]);
    assert_eq!(home.called("fix", "counter"), 1);
    assert_eq!(home.called("fix", "side_effect"), 2);
    client.approvals_once(0).await;
    assert!(records(&home) == 0);
    let error = resume(&client, "A1").await.unwrap_err();
    assert!(
        error.message.contains("there is no approval `A1`"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn run_with_oversized_journal_cannot_be_resumed() {
    let home = asking("[approvals]\nwait = \"1s\"\nlog = \"64KiB\"\n");
    let client = Client::deaf(&home).await;
    let program = [
        ("fix.blob", json!({ "bytes": 100_000 })),
        ("fix.counter", by(1)),
    ];
    let run = client.start_steps(&program, false).await;
    assert_eq!(client.failure(&run).await.kind, Kind::Pending);
    client.decide("A1", Decision::Once).await.unwrap();
    let error = resume(&client, "A1").await.unwrap_err();
    assert_eq!(error.kind, Kind::Limit);
    assert!(error.message.contains("approvals.log"), "{error:?}");
    assert_eq!(
        (home.called("fix", "blob"), home.called("fix", "counter")),
        (1, 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn resuming_a_held_run_only_follows_it() {
    let home = asking("");
    let client = Client::deaf(&home).await;
    let run = client.start_steps(&[("fix.counter", by(1))], true).await;
    client.approvals_once(1).await;
    assert_eq!(resume(&client, &run).await.unwrap(), run);
    client.decide("A1", Decision::Once).await.unwrap();
    assert_eq!(client.summary(&run).await["result"], "1");
    assert_eq!(home.called("fix", "counter"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_of_a_pending_call_survives_the_daemon_and_numbers_are_not_reused() {
    let home = asking(SOON);
    let client = Client::deaf(&home).await;
    assert_eq!(client.fails("counter", by(1)).await.kind, Kind::Pending);
    client.decide("A1", Decision::Once).await.unwrap();
    drop(client);
    home.stop().await;
    let client = Client::deaf(&home).await;
    assert_eq!(
        client.approvals_once(1).await[0].state,
        ApprovalState::Approved
    );
    assert_eq!(client.call("counter", by(1)).await, "1");
    let (_call, one) = held(&client, by(1)).await;
    assert_ne!(one.approval, "A1");
}
