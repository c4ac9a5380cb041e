//! A run from its start to its last event.

use std::time::Duration;

use mux_proto::{
    Error, Event, EventKind, EventsRequest, Kind, Outcome, RunRequest,
    transport::{MAX_FRAME, within},
};
use tarpc::client::RpcError;

use crate::Session;

/// How long the daemon holds a poll before it answers with nothing.
const POLL: Duration = Duration::from_secs(25);

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    pub run: String,
    pub outcome: Outcome,
}

/// Runs a program and hands over every event as it happens, the last one included.
pub async fn run(
    session: &Session,
    request: RunRequest,
    mut on_event: impl FnMut(&Event),
) -> Result<Finished, Error> {
    check_size(&request)?;
    let started = session
        .client
        .start_run(within(Duration::from_secs(10)), request)
        .await
        .map_err(lost)??;
    let run = started.run;
    let mut after = 0;
    loop {
        let request = EventsRequest {
            run: run.clone(),
            after,
            wait_ms: u64::try_from(POLL.as_millis()).unwrap_or(u64::MAX),
        };
        let page = session
            .client
            .events(within(POLL * 2), request)
            .await
            .map_err(lost)??;
        for event in page.events {
            after = event.seq;
            on_event(&event);
            if let EventKind::Ended { outcome } = event.event {
                return Ok(Finished { run, outcome });
            }
        }
    }
}

/// A frame that is too long would end the connection without a word.
fn check_size(request: &RunRequest) -> Result<(), Error> {
    // Room for the envelope.
    const MOST: usize = MAX_FRAME - 4096;
    let length = serde_json::to_vec(request).map_or(usize::MAX, |bytes| bytes.len());
    if length <= MOST {
        return Ok(());
    }
    let message =
        format!("program and input are {length} bytes together, over the limit of {MOST}");
    Err(Error::new(Kind::Limit, message).hint("let the program read large data with a tool"))
}

/// The daemon went away under a request: what it was doing may have happened.
pub fn lost(error: RpcError) -> Error {
    match error {
        RpcError::DeadlineExceeded => {
            Error::new(Kind::Timeout, "muxd did not answer in time").hint("see `mux logs`")
        }
        RpcError::Server(error) => Error::new(Kind::Internal, error.detail),
        RpcError::Send(error) => Error::new(
            Kind::Unavailable,
            format!("nothing was sent to muxd: {error}"),
        ),
        error => Error::new(
            Kind::UnknownOutcome,
            format!("the connection to muxd was lost: {error}"),
        )
        .hint("calls that were on their way may have happened; look before you run it again"),
    }
}
