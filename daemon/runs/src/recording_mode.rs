//! Records the calls of a run, or replays them from a recording.
//!
//! Invariant: a replayed call is answered here and never reaches the gateway.

use std::sync::Arc;

use futures::{
    FutureExt,
    future::{BoxFuture, pending, ready},
};
use mux_wire::{CallTarget, Fault};

use super::run_context::RunContext;
use crate::recording::{CallRecorder, CallReplayer, RecordedProgram, collect_known_secrets};
use mux_gateway::CallObserver as _;
use mux_upstream::Upstreams;

/// The mode of a run that is recorded or replayed.
#[derive(Debug)]
pub(super) enum RecordingMode {
    Record(CallRecorder, RecordedProgram),
    Replay(CallReplayer),
}

type CallFuture = BoxFuture<'static, Result<String, Fault>>;

impl RunContext {
    /// True if a recording answers the calls of this run.
    pub(super) fn is_replay(&self) -> bool {
        matches!(
            self.recording_mode.as_deref(),
            Some(RecordingMode::Replay(_))
        )
    }

    /// Makes the call and records it, or replays it.
    pub(super) fn record_or_replay(
        &self,
        target: CallTarget,
        arguments: Arc<str>,
        make: impl FnOnce(CallTarget, Arc<str>) -> CallFuture,
    ) -> CallFuture {
        let Some(recording_mode) = &self.recording_mode else {
            return make(target, arguments);
        };
        match &**recording_mode {
            RecordingMode::Record(recorder, _) => {
                let place = recorder.begin_call(&target, &arguments);
                let made = make(target, arguments);
                let recording_mode = Arc::clone(recording_mode);
                async move {
                    let outcome = made.await;
                    if let RecordingMode::Record(recorder, _) = &*recording_mode {
                        recorder.end_call(place, &outcome);
                    }
                    outcome
                }
                .boxed()
            }
            RecordingMode::Replay(replayer) => {
                let answer = replayer.replay_call(&target, &arguments);
                let path = tool_path(&target);
                let call = path.as_ref().map(|path| self.observer.call_started(path));
                // As recorded, the call does not end before its run does.
                let Some((outcome, took)) = answer else {
                    return pending().boxed();
                };
                if let (Some(path), Some(call)) = (path, call) {
                    let bytes = outcome.as_ref().map(String::len);
                    self.observer.call_ended(call, &path, took, bytes);
                }
                ready(outcome).boxed()
            }
        }
    }
}

impl RecordingMode {
    /// The recording as JSON, if one is being made.
    pub(super) fn finish_recording(
        &self,
        outcome: &Result<String, Fault>,
        upstreams: &Upstreams,
    ) -> Option<Result<String, Fault>> {
        match self {
            Self::Record(recorder, script) => Some(recorder.into_recording_text(
                script.clone(),
                outcome,
                collect_known_secrets(upstreams),
            )),
            Self::Replay(_) => None,
        }
    }
}

/// The path of the tool. `None` for a function of `mux`.
fn tool_path(target: &CallTarget) -> Option<String> {
    match target {
        CallTarget::Own { .. } => None,
        CallTarget::Named { server, tool } => Some(format!("{server}.{tool}")),
        CallTarget::Path { path, .. } => Some(path.clone()),
    }
}
