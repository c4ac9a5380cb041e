//! The events of runs, and values too long to be sent inline, as a client of the socket gets them.
//!
//! Invariant: whatever happens to connections, daemons and disks, the events of a run can be read, and no value is
//! truncated.

mod cancel;
mod detach;
mod guest;
mod handles;
mod history;
mod list;

use mux_client::{ClientIdentity, Session, within_seconds};
use mux_proto::{
    CallRequest, Error, Event, EventKind, EventsRequest, Handle, Held, Outcome, ReadRequest,
    RunInfo, RunRequest, RunsRequest,
};
use mux_tests::{TestEnv, env::binary};
use serde_json::Value;

/// The timeout of a request in seconds, longer than any request here takes.
const PATIENCE: u64 = 60;

/// A session of the user's own client, which may read every run.
async fn client(env: &TestEnv) -> Session {
    session(env, &ClientIdentity::new("mux", "0")).await
}

async fn session(env: &TestEnv, identity: &ClientIdentity) -> Session {
    mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), identity)
        .await
        .unwrap()
}

async fn start(session: &Session, code: &str, detach: bool) -> String {
    let request = RunRequest {
        source: code.into(),
        timeout_ms: Some(120_000),
        detach,
        // Without a compiler, the check would add an event before all others.
        no_check: true,
        ..RunRequest::default()
    };
    let started = session.client.start_run(within_seconds(PATIENCE), request);
    started.await.unwrap().unwrap().run
}

/// One page of the events after the number `after`. Waits up to `wait_ms` for the first of them.
async fn events(session: &Session, run: &str, after: u64, wait_ms: u64) -> Vec<Event> {
    let request = EventsRequest {
        run: run.into(),
        after,
        wait_ms,
    };
    let page = session.client.events(within_seconds(PATIENCE), request);
    page.await.unwrap().unwrap().events
}

/// All events up to the page with the first for which `is_it` is true.
async fn until(session: &Session, run: &str, is_it: impl Fn(&EventKind) -> bool) -> Vec<Event> {
    let mut seen: Vec<Event> = Vec::new();
    while !seen.iter().any(|event| is_it(&event.event)) {
        let last = seen.last().map(|event| &event.event);
        assert!(!matches!(last, Some(EventKind::Ended { .. })), "{seen:#?}");
        seen.extend(events(session, run, seen.len() as u64, 20_000).await);
    }
    seen
}

async fn all(session: &Session, run: &str) -> Vec<Event> {
    until(session, run, |kind| matches!(kind, EventKind::Ended { .. })).await
}

/// The outcome of a run, once it has ended.
async fn outcome(session: &Session, run: &str) -> Outcome {
    match all(session, run).await.pop().unwrap().event {
        EventKind::Ended { outcome } => outcome,
        other => panic!("{other:?}"),
    }
}

/// Starts a run and waits for its outcome.
async fn run(session: &Session, code: &str) -> Outcome {
    let run = start(session, code, false).await;
    outcome(session, &run).await
}

async fn call(session: &Session, path: &str, arguments: Value) -> Result<Held, Error> {
    let request = CallRequest {
        path: path.into(),
        arguments: arguments.into(),
        ..CallRequest::default()
    };
    let called = session.client.call(within_seconds(PATIENCE), request);
    called.await.unwrap().map(|answer| answer.result)
}

async fn info(session: &Session, run: &str) -> Result<RunInfo, Error> {
    let asked = session
        .client
        .run_info(within_seconds(PATIENCE), run.into());
    asked.await.unwrap()
}

async fn listed(session: &Session, running: bool, limit: Option<usize>) -> (Vec<RunInfo>, usize) {
    let request = RunsRequest { running, limit };
    let list = session.client.runs(within_seconds(PATIENCE), request);
    let list = list.await.unwrap().unwrap();
    (list.runs, list.total)
}

async fn cancel(session: &Session, run: &str) {
    let asked = session
        .client
        .cancel_run(within_seconds(PATIENCE), run.into());
    asked.await.unwrap().unwrap();
}

/// The JSON text behind a handle, read in pages of `length` bytes.
async fn text(session: &Session, handle: &Handle, length: u64) -> String {
    let mut text = String::new();
    let mut next = Some(0);
    while let Some(offset) = next {
        let page = read(session, &handle.handle, offset, Some(length)).await;
        let page = page.unwrap();
        assert_eq!((page.offset, page.total), (offset, handle.bytes));
        text.push_str(&page.text);
        next = page.next;
    }
    text
}

async fn read(
    session: &Session,
    handle: &str,
    offset: u64,
    length: Option<u64>,
) -> Result<mux_proto::ReadPage, Error> {
    let request = ReadRequest {
        handle: handle.into(),
        offset,
        length,
    };
    let read = session.client.read(within_seconds(PATIENCE), request);
    read.await.unwrap()
}

#[track_caller]
fn stored(outcome: Outcome) -> Handle {
    match outcome {
        Outcome::Stored(handle) => handle,
        Outcome::Result(value) => panic!("{} bytes came inline", value.to_string().len()),
        Outcome::Error(error) => panic!("{error:#?}"),
    }
}

#[track_caller]
fn failed(outcome: Outcome) -> Error {
    match outcome {
        Outcome::Error(error) => error,
        other => panic!("{other:?}"),
    }
}
