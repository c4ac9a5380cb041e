//! What the calls of one run are made with: the ways out, and who is told of each.
//!
//! Invariant: what happens to a call becomes an event of its run, once, and in order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use mux_sandbox::limits::MOST_ANSWER;
use mux_wire::{Fault, Kind, Level};
use serde_json::json;

use super::{Happening, deck::Deck, recorder::Recorder};
use mux_approvals::Word;
use mux_caller::Progress;
use mux_gateway::{Asking, CallObserver, Gateway};
use mux_handles::Handles;
use mux_upstream::Whose;

#[derive(Clone)]
pub(super) struct Reach {
    pub(super) gateway: Arc<Gateway>,
    pub(super) handles: Handles,
    pub(super) asking: Asking,
    /// Whose sessions it uses.
    pub(super) whose: Whose,
    pub(super) observer: Arc<Observer>,
    /// The run is recorded, or answered from a recording.
    pub(super) deck: Option<Arc<Deck>>,
}

impl Reach {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        handles: Handles,
        asking: Asking,
        recorder: Arc<Recorder>,
        deck: Option<Arc<Deck>>,
    ) -> Self {
        Self {
            deck,
            gateway,
            handles,
            whose: Whose::of(&asking.caller),
            asking,
            observer: Arc::new(Observer::new(recorder)),
        }
    }
}

/// Turns what the gateway tells into events of the run.
pub(super) struct Observer {
    recorder: Arc<Recorder>,
    next_call: AtomicU32,
    /// Words on progress so far.
    progress: AtomicU32,
}

/// Words on the progress of all calls of one run. Whoever has read so many knows that it moves.
const MOST_PROGRESS: u32 = 5_000;

impl Observer {
    pub(super) fn new(recorder: Arc<Recorder>) -> Self {
        Self {
            recorder,
            next_call: AtomicU32::new(1),
            progress: AtomicU32::new(0),
        }
    }

    pub(super) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }
}

impl CallObserver for Observer {
    fn server_starting(&self, server: &str) {
        self.recorder.push(Happening::ServerStarting {
            server: server.to_owned(),
        });
    }

    fn server_ready(&self, server: &str, took: Duration) {
        self.recorder.push(Happening::ServerReady {
            server: server.to_owned(),
            took,
        });
    }

    fn call_started(&self, path: &str) -> u32 {
        let call = self.next_call.fetch_add(1, Ordering::Relaxed);
        self.recorder.run().count(|calls| calls.started += 1);
        self.recorder.push(Happening::CallStarted {
            call,
            path: path.to_owned(),
        });
        call
    }

    fn call_progress(&self, call: u32, path: &str, progress: Progress) {
        if self.progress.fetch_add(1, Ordering::Relaxed) < MOST_PROGRESS {
            self.recorder.push(Happening::CallProgress {
                call,
                path: path.to_owned(),
                progress,
            });
        }
    }

    fn approval(&self, word: Word<'_>) {
        self.recorder.push(match word {
            Word::Asked(request) => Happening::ApprovalAsked(request.clone()),
            Word::Over(request, ending) => Happening::ApprovalOver {
                approval: request.approval.clone(),
                path: request.path.clone(),
                ending,
            },
        });
    }

    fn call_repeated(&self, path: &str, cause: &str) {
        let cause = cause.lines().next().unwrap_or_default();
        self.recorder.push(Happening::Console {
            level: Level::Warn,
            text: format!("[mux] {path} is sent again, since it changes nothing: {cause}"),
        });
    }

    fn call_ended(&self, call: u32, path: &str, took: Duration, outcome: Result<usize, &Fault>) {
        self.recorder.run().count(|calls| {
            calls.ended += 1;
            calls.failed += u32::from(outcome.is_err());
        });
        // The program has the details; here they would be kept, and sent, a second time.
        let outcome = outcome.map_err(|fault| Fault {
            details: None,
            ..fault.clone()
        });
        self.recorder.push(Happening::CallEnded {
            call,
            path: path.to_owned(),
            took,
            outcome,
        });
    }
}

/// A value that no frame to the worker can carry is kept, and the program is told where.
pub(super) async fn fitting(value: String, handles: &Handles) -> Result<String, Fault> {
    let bytes = value.len();
    if bytes <= MOST_ANSWER {
        return Ok(value);
    }
    let handle = handles.keep(value, "the result of the call").await?.name;
    let most = MOST_ANSWER;
    let mut fault = Fault::new(
        Kind::Limit,
        format!("the result of the call is {bytes} bytes, over the limit of {most}"),
    )
    .hint(format!(
        "it was called, and its result is kept: read it in parts with mux.read(\"{handle}\", \
         {{ offset, length }}), or ask the tool for less"
    ));
    fault.details = Some(json!({ "handle": handle, "bytes": bytes }).to_string());
    Err(fault)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use mux_settings::StoredValueLimits;

    #[tokio::test]
    async fn what_fits_into_no_frame_is_kept_and_the_program_told_where() {
        let home = tempfile::tempdir().unwrap();
        let handles = Handles::open(home.path().join("results"), StoredValueLimits::default());
        let short = "\"x\"".to_owned();
        assert_eq!(fitting(short.clone(), &handles).await.unwrap(), short);
        let value = format!("\"{}\"", "x".repeat(MOST_ANSWER));
        let fault = fitting(value.clone(), &handles).await.unwrap_err();
        assert_eq!(fault.kind, Kind::Limit);
        assert!(fault.hint.unwrap().contains("mux.read(\"h_"));
        let details: Value = serde_json::from_str(&fault.details.unwrap()).unwrap();
        assert_eq!(details["bytes"], value.len());
        let handle = details["handle"].as_str().unwrap();
        assert_eq!(handles.whole(handle, usize::MAX).await.unwrap(), value);
        // In one piece it does not fit any better.
        let fault =
            super::super::own::read(&json!({ "handle": handle }).to_string(), &handles).await;
        assert_eq!(fault.unwrap_err().kind, Kind::Limit);
    }
}
