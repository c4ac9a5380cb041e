//! Cancellation of a run: while it waits for a worker, and during a call.

use mux_client::{Session, within_seconds};
use mux_proto::{EventKind, Held, Kind, RunState};
use mux_tests::TestEnv;
use serde_json::json;

use super::{all, call, cancel, client, failed, info, outcome, start, until};

const HANGING: &str = "await mux.fix.hang({})";

/// Waits until the server has received this many cancellations. Each poll is a call of the server, so there is no
/// sleep.
async fn cancelled_calls(session: &Session, times: usize) {
    for _ in 0..2000 {
        let output = call(session, "fix.cancelled", json!({})).await.unwrap();
        let Held::Value(output) = output else {
            panic!("{output:?}");
        };
        if output.to_value().as_array().unwrap().len() >= times {
            return;
        }
    }
    panic!("the server was not told {times} times");
}

/// Fills the pool until a run waits for a worker, then starts one more through `last`. Returns the ids of the other
/// runs and of that one.
async fn with_one_in_line(session: &Session, last: &Session) -> (Vec<String>, String) {
    let mut others = Vec::new();
    loop {
        others.push(start(session, HANGING, false).await);
        let workers = loop {
            let status = session.client.status(within_seconds(60)).await;
            let workers = status.unwrap().unwrap().workers;
            if workers.starting == 0 && workers.busy + workers.waiting == others.len() {
                break workers;
            }
        };
        if workers.waiting > 0 {
            break;
        }
    }
    let waiting = start(last, HANGING, false).await;
    let state = info(session, &waiting).await.unwrap().state;
    assert_eq!(state, RunState::Waiting);
    (others, waiting)
}

fn narrow() -> TestEnv {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!("{fix}[limits]\nworkers = 1\n"));
    env
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_run_is_cancelled_before_it_starts() {
    let env = narrow();
    let session = client(&env).await;
    let (others, waiting) = with_one_in_line(&session, &session).await;
    cancel(&session, &waiting).await;
    let events = all(&session, &waiting).await;
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(
        failed(outcome(&session, &waiting).await).kind,
        Kind::Cancelled
    );
    for run in others {
        assert!(info(&session, &run).await.unwrap().error.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_run_is_cancelled_when_its_client_disconnects() {
    let env = narrow();
    let session = client(&env).await;
    let guest = client(&env).await;
    let (_, waiting) = with_one_in_line(&session, &guest).await;
    drop(guest);
    let events = all(&session, &waiting).await;
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(
        failed(outcome(&session, &waiting).await).kind,
        Kind::Cancelled
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn cancellation_of_a_run_reaches_the_server_of_its_call() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let session = client(&env).await;
    let run = start(&session, HANGING, false).await;
    until(&session, &run, |kind| {
        matches!(kind, EventKind::CallStarted { .. })
    })
    .await;
    let other = client(&env).await;
    cancel(&other, &run).await;
    assert_eq!(failed(outcome(&other, &run).await).kind, Kind::Cancelled);
    cancelled_calls(&other, 1).await;
    // Cancelling again, after the end, is not an error.
    cancel(&other, &run).await;
    let info = info(&other, &run).await.unwrap();
    assert_eq!((info.calls, info.calls_ended), (1, 0));
    assert_eq!(env.starts("fix").len(), 1);
}
