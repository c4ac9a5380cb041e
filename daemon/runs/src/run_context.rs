//! The context of one run's calls: the gateway, stored values, and the observer of calls.
//!
//! Invariant: everything that happens to a call becomes one event of its run, in order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use mux_sandbox::limits::MAX_ANSWER_BYTES;
use mux_wire::{ConsoleLevel, Fault, FaultKind};
use serde_json::json;

use super::{RunEvent, event_writer::EventWriter, recording_mode::RecordingMode};
use mux_approvals::ApprovalEvent;
use mux_caller::ProgressUpdate;
use mux_gateway::{CallContext, CallObserver, Gateway};
use mux_handles::StoredValues;
use mux_upstream::CallerIdentity;

#[derive(Clone)]
pub(super) struct RunContext {
    pub(super) gateway: Arc<Gateway>,
    pub(super) handles: StoredValues,
    pub(super) asking: CallContext,
    /// The identity whose sessions the run uses.
    pub(super) whose: CallerIdentity,
    pub(super) observer: Arc<RunCallObserver>,
    /// Set if the run is recorded, or replayed from a recording.
    pub(super) recording_mode: Option<Arc<RecordingMode>>,
}

impl RunContext {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        handles: StoredValues,
        asking: CallContext,
        recorder: Arc<EventWriter>,
        recording_mode: Option<Arc<RecordingMode>>,
    ) -> Self {
        Self {
            recording_mode,
            gateway,
            handles,
            whose: CallerIdentity::of(&asking.caller),
            asking,
            observer: Arc::new(RunCallObserver::new(recorder)),
        }
    }
}

/// Turns notifications of the gateway into events of the run.
pub(super) struct RunCallObserver {
    recorder: Arc<EventWriter>,
    next_call: AtomicU32,
    /// Progress notifications so far.
    progress: AtomicU32,
}

/// The maximum number of progress events of one run, over all its calls. Further events are dropped.
const MAX_PROGRESS_EVENTS: u32 = 5_000;

impl RunCallObserver {
    pub(super) fn new(recorder: Arc<EventWriter>) -> Self {
        Self {
            recorder,
            next_call: AtomicU32::new(1),
            progress: AtomicU32::new(0),
        }
    }

    pub(super) fn writer(&self) -> &Arc<EventWriter> {
        &self.recorder
    }
}

impl CallObserver for RunCallObserver {
    fn server_starting(&self, server: &str) {
        self.recorder.push(RunEvent::ServerStarting {
            server: server.to_owned(),
        });
    }

    fn server_ready(&self, server: &str, took: Duration) {
        self.recorder.push(RunEvent::ServerReady {
            server: server.to_owned(),
            took,
        });
    }

    fn call_started(&self, path: &str) -> u32 {
        let call = self.next_call.fetch_add(1, Ordering::Relaxed);
        self.recorder
            .run()
            .update_call_counts(|calls| calls.started += 1);
        self.recorder.push(RunEvent::CallStarted {
            call,
            path: path.to_owned(),
        });
        call
    }

    fn call_progress(&self, call: u32, path: &str, progress: ProgressUpdate) {
        if self.progress.fetch_add(1, Ordering::Relaxed) < MAX_PROGRESS_EVENTS {
            self.recorder.push(RunEvent::CallProgress {
                call,
                path: path.to_owned(),
                progress,
            });
        }
    }

    fn approval_changed(&self, word: ApprovalEvent<'_>) {
        let waits = matches!(word, ApprovalEvent::Asked(_));
        self.recorder.run().count_waiting_approval(waits);
        self.recorder.push(match word {
            ApprovalEvent::Asked(request) => RunEvent::ApprovalAsked(request.clone()),
            ApprovalEvent::Over(request, ending) => RunEvent::ApprovalOver {
                approval: request.approval.clone(),
                path: request.path.clone(),
                ending,
            },
        });
    }

    fn call_warned(&self, path: &str, warning: &str) {
        self.recorder.push(RunEvent::Console {
            level: ConsoleLevel::Warn,
            text: format!("[mux] {path} {warning}"),
        });
    }

    fn call_ended(&self, call: u32, path: &str, took: Duration, outcome: Result<usize, &Fault>) {
        self.recorder.run().update_call_counts(|calls| {
            calls.ended += 1;
            calls.failed += u32::from(outcome.is_err());
        });
        // The program has the details. Here they would be stored and sent a second time.
        let outcome = outcome.map_err(|fault| Fault {
            details: None,
            ..fault.clone()
        });
        self.recorder.push(RunEvent::CallEnded {
            call,
            path: path.to_owned(),
            took,
            outcome,
        });
    }
}

/// Stores a value that is too long for a frame to the worker, and returns a fault with its handle.
pub(super) async fn store_if_too_long(
    value: String,
    handles: &StoredValues,
) -> Result<String, Fault> {
    let bytes = value.len();
    if bytes <= MAX_ANSWER_BYTES {
        return Ok(value);
    }
    let handle = handles.keep(value, "the result of the call").await?.name;
    let most = MAX_ANSWER_BYTES;
    let mut fault = Fault::new(
        FaultKind::Limit,
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
    async fn value_too_long_for_a_frame_is_stored_under_a_handle() {
        let home = tempfile::tempdir().unwrap();
        let handles = StoredValues::open(
            home.path().join("results"),
            home.path().join("key"),
            StoredValueLimits::default(),
        );
        let short = "\"x\"".to_owned();
        assert_eq!(
            store_if_too_long(short.clone(), &handles).await.unwrap(),
            short
        );
        let value = format!("\"{}\"", "x".repeat(MAX_ANSWER_BYTES));
        let fault = store_if_too_long(value.clone(), &handles)
            .await
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Limit);
        assert!(fault.hint.unwrap().contains("mux.read(\"h_"));
        let details: Value = serde_json::from_str(&fault.details.unwrap()).unwrap();
        assert_eq!(details["bytes"], value.len());
        let handle = details["handle"].as_str().unwrap();
        assert_eq!(handles.read_whole(handle, usize::MAX).await.unwrap(), value);
        // Reading the whole value does not fit either.
        let fault =
            super::super::builtins::read(&json!({ "handle": handle }).to_string(), &handles).await;
        assert_eq!(fault.unwrap_err().kind, FaultKind::Limit);
    }
}
