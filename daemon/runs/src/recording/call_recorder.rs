//! Records the calls of a run.
//!
//! Invariant: a recording is complete or there is none. A recording that would be too long fails with a fault.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};

use mux_secrets::KnownSecrets;
use mux_wire::{CallTarget, Fault, FaultKind};

use super::{
    RunRecording,
    file_format::{MAX_RECORDING_BYTES, RecordedCall, RecordedOutcome, RecordedProgram, raw_json},
    mask_secrets::mask_recording,
};
use mux_approvals::call_fingerprint::spelled_tool;

/// The size of a recorded call beyond its texts.
const CALL_OVERHEAD_BYTES: usize = 160;

#[derive(Debug)]
pub struct CallRecorder {
    begun: Instant,
    since: SystemTime,
    state: Mutex<RecordedCalls>,
}

/// The state that `CallRecorder::state` guards.
#[derive(Debug, Default)]
struct RecordedCalls {
    calls: Vec<RecordedCall>,
    bytes: usize,
}

impl Default for CallRecorder {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            since: SystemTime::now(),
            state: Mutex::default(),
        }
    }
}

impl CallRecorder {
    /// Records the start of a call and returns its index. `None` if the recording is full.
    pub fn begin_call(&self, target: &CallTarget, arguments: &str) -> Option<usize> {
        let (tool, is_raw) = spelled_tool(target);
        let mut state = self.state();
        if !state.reserve_bytes(CALL_OVERHEAD_BYTES + tool.len() + arguments.len()) {
            return None;
        }
        state.calls.push(RecordedCall {
            tool,
            raw: is_raw,
            arguments: raw_json(arguments),
            at_ms: self.begun.elapsed().as_secs_f64() * 1e3,
            ms: 0.0,
            outcome: RecordedOutcome::Open,
        });
        Some(state.calls.len() - 1)
    }

    pub fn end_call(&self, place: Option<usize>, outcome: &Result<String, Fault>) {
        let now = self.begun.elapsed().as_secs_f64() * 1e3;
        let mut state = self.state();
        let Some(place) = place.filter(|place| *place < state.calls.len()) else {
            return;
        };
        if state.reserve_bytes(outcome_len(outcome)) {
            let entry = &mut state.calls[place];
            entry.ms = now - entry.at_ms;
            entry.outcome = RecordedOutcome::of(outcome);
        }
    }

    /// The recording as JSON, with known secrets masked.
    pub fn into_recording_text(
        &self,
        script: RecordedProgram,
        outcome: &Result<String, Fault>,
        known: KnownSecrets,
    ) -> Result<String, Fault> {
        let mut state = self.state();
        if !state.reserve_bytes(outcome_len(outcome) + script.source.len() + script.names.len()) {
            return Err(Fault::new(
                FaultKind::Limit,
                format!("the run is not recorded: its calls and results are over {MAX_RECORDING_BYTES} bytes"),
            )
            .hint("record a run that reads less"));
        }
        let calls = std::mem::take(&mut state.calls);
        drop(state);
        let since = self.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut texts = vec![script.input.get().to_owned()];
        for call in &calls {
            texts.push(call.arguments.get().to_owned());
            if let RecordedOutcome::Result(text) = &call.outcome {
                texts.push(text.get().to_owned());
            }
        }
        let recording = RunRecording::new(
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            script,
            calls,
            RecordedOutcome::of(outcome),
        );
        let text = serde_json::to_string(&recording);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        text.map(|text| mask_recording(&text, known, &texts))
            .map_err(|error| Fault::new(FaultKind::Internal, format!("not recorded: {error}")))
    }

    fn state(&self) -> MutexGuard<'_, RecordedCalls> {
        self.state.lock()
    }
}

impl RecordedCalls {
    /// Returns false, now and from then on, once the recording would exceed [`MAX_RECORDING_BYTES`].
    fn reserve_bytes(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_RECORDING_BYTES {
            self.calls = Vec::new();
        }
        self.bytes <= MAX_RECORDING_BYTES
    }
}

fn outcome_len(outcome: &Result<String, Fault>) -> usize {
    match outcome {
        Ok(text) => text.len(),
        Err(fault) => fault.message.len() + fault.details.as_ref().map_or(0, String::len),
    }
}
