//! Starts a run and follows it to its last event.
//!
//! Invariant: events arrive in order and without gaps, and the last one always arrives.

use std::time::Duration;

use mux_proto::{
    Error, Event, EventKind, EventsRequest, Kind, Outcome, RunInfo, RunRequest, RunState,
    transport::{MAX_FRAME, within},
};

use crate::{Session, rpc_error, within_seconds};

/// How long the daemon holds a poll before it answers without events.
const EVENTS_POLL_TIMEOUT: Duration = Duration::from_secs(25);

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    pub run: String,
    pub outcome: Outcome,
}

/// Runs a program and passes every event to `on_event` as it happens, including the last one.
pub async fn run(
    session: &Session,
    request: RunRequest,
    on_event: impl FnMut(&Event),
) -> Result<FinishedRun, Error> {
    let run = start(session, request).await?;
    watch(session, &run, 0, on_event).await
}

/// Starts a program and returns the id of its run. The run ends with this session, unless `detach` is set.
pub async fn start(session: &Session, request: RunRequest) -> Result<String, Error> {
    check_request_size(&request)?;
    let answer = session.client.start_run(within_seconds(10), request).await;
    Ok(answer.map_err(rpc_error)??.run)
}

/// Passes the events of a run after number `after` to `on_event` as they happen, until the run has ended. For a run
/// that has already ended, at least the last event is passed, regardless of `after`.
pub async fn watch(
    session: &Session,
    run: &str,
    after: u64,
    mut on_event: impl FnMut(&Event),
) -> Result<FinishedRun, Error> {
    let mut after = match after {
        0 => 0,
        after => {
            let asked = session.client.run_info(within_seconds(10), run.to_owned());
            clamp_start(after, &asked.await.map_err(rpc_error)??)
        }
    };
    loop {
        let request = EventsRequest {
            run: run.to_owned(),
            after,
            wait_ms: u64::try_from(EVENTS_POLL_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
        };
        let page = session
            .client
            .events(within(EVENTS_POLL_TIMEOUT * 2), request)
            .await;
        for event in page.map_err(rpc_error)??.events {
            after = event.seq;
            on_event(&event);
            if let EventKind::Ended { outcome } = event.event {
                let run = run.to_owned();
                return Ok(FinishedRun { run, outcome });
            }
        }
    }
}

/// The number to start after: at most the one before the last event, because none follows that one.
fn clamp_start(after: u64, info: &RunInfo) -> u64 {
    let open = matches!(info.state, RunState::Waiting | RunState::Running);
    let most = if open {
        info.events
    } else {
        info.events.saturating_sub(1)
    };
    after.min(most)
}

/// Fails if the request is longer than a frame, which would end the connection without an error.
fn check_request_size(request: &RunRequest) -> Result<(), Error> {
    // Room for the envelope.
    const MAX_REQUEST_BYTES: usize = MAX_FRAME - 4096;
    let length = serde_json::to_vec(request).map_or(usize::MAX, |bytes| bytes.len());
    if length <= MAX_REQUEST_BYTES {
        return Ok(());
    }
    let message = format!(
        "the program and its input are {length} bytes together, over the limit of {MAX_REQUEST_BYTES}"
    );
    Err(Error::new(Kind::Limit, message).hint("let the program read large data with a tool"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watch_starts_before_the_last_event() {
        let mut info = RunInfo {
            run: "a-1".into(),
            state: RunState::Running,
            client: "mux".into(),
            agent: None,
            workspace: None,
            detached: false,
            title: String::new(),
            accepted_ms: 0,
            ms: 0,
            calls: 0,
            calls_ended: 0,
            calls_failed: 0,
            approvals: 0,
            error: None,
            events: 7,
        };
        assert_eq!((clamp_start(3, &info), clamp_start(9, &info)), (3, 7));
        info.state = RunState::Failed;
        assert_eq!((clamp_start(3, &info), clamp_start(7, &info)), (3, 6));
        info.events = 0;
        assert_eq!(clamp_start(1, &info), 0);
    }
}
