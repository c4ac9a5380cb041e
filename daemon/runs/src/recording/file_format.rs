//! The file format of a recording.
//!
//! Invariant: a file of another version is rejected, never partially read.

use std::{sync::Arc, time::Duration};

use mux_wire::{Fault, FaultKind};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use mux_journal::{CallState, LoggedCall, Program};
use mux_messages::Language;

/// The current format version, and the only one so far.
const RECORDING_VERSION: u32 = 1;
/// The maximum size of a recording. A recording comes back from the client in one message, whose frame is at most 16
/// MiB.
pub(crate) const MAX_RECORDING_BYTES: usize = 12 << 20;

/// A recorded run.
#[derive(Debug, Deserialize, Serialize)]
pub struct RunRecording {
    muxd_recording: u32,
    /// Milliseconds since the Unix epoch.
    pub recorded_ms: u64,
    /// Milliseconds from the acceptance of the run to its end.
    pub ms: u64,
    pub program: RecordedProgram,
    pub calls: Vec<RecordedCall>,
    pub outcome: RecordedOutcome,
}

/// The program of a recorded run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct RecordedProgram {
    pub source: String,
    /// Set if the source is a step program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steps: bool,
    #[serde(default)]
    pub input: Box<RawValue>,
    pub timeout_ms: Option<u64>,
    pub agent: Option<String>,
    /// The result of `Object.keys(mux)`, as lines of JSON.
    pub names: String,
}

/// One recorded call, of a tool or of a function of `mux`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RecordedCall {
    /// The tool as the program wrote it. Functions of `mux` are `mux.NAME`.
    pub tool: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raw: bool,
    pub arguments: Box<RawValue>,
    /// Milliseconds since the run was accepted.
    pub at_ms: f64,
    pub ms: f64,
    pub outcome: RecordedOutcome,
}

/// The outcome of a call or a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome {
    Result(Box<RawValue>),
    Error(Fault),
    /// The call had not ended when the run did.
    Open,
}

impl RunRecording {
    pub(super) fn new(
        recorded_ms: u64,
        ms: u64,
        program: RecordedProgram,
        calls: Vec<RecordedCall>,
        outcome: RecordedOutcome,
    ) -> Self {
        Self {
            muxd_recording: RECORDING_VERSION,
            recorded_ms,
            ms,
            program,
            calls,
            outcome,
        }
    }

    /// The calls as a journal has them, which answer the calls of a replay.
    pub(crate) fn into_calls(self) -> Vec<LoggedCall> {
        self.calls
            .into_iter()
            .map(RecordedCall::into_logged_call)
            .collect()
    }

    pub fn parse(text: &str) -> Result<Self, Fault> {
        #[derive(Deserialize)]
        struct VersionHeader {
            muxd_recording: Option<u32>,
        }
        let unfit = |what: String| {
            Fault::new(FaultKind::Validation, what)
                .hint("`mux run --record FILE` writes a recording")
        };
        let head: VersionHeader = serde_json::from_str(text)
            .map_err(|error| unfit(format!("this is not a recording of a run: {error}")))?;
        match head.muxd_recording {
            Some(RECORDING_VERSION) => serde_json::from_str(text)
                .map_err(|error| unfit(format!("the recording is damaged: {error}"))),
            Some(other) => Err(unfit(format!(
                "the recording has version {other}, and this muxd reads version {RECORDING_VERSION}"
            ))),
            None => Err(unfit("this is not a recording of a run".into())),
        }
    }
}

impl RecordedProgram {
    pub fn language(&self) -> Language {
        if self.steps {
            Language::Json
        } else {
            Language::TypeScript
        }
    }
}

impl RecordedProgram {
    pub(super) fn of(program: &Program, names: String) -> Self {
        Self {
            source: program.source.as_ref().to_owned(),
            steps: program.language == Language::Json,
            input: raw_json(&program.input),
            timeout_ms: Some(mux_messages::millis(program.wall)),
            agent: program.origin.agent.clone(),
            names,
        }
    }
}

impl RecordedCall {
    pub(super) fn of(call: &LoggedCall) -> Self {
        Self {
            tool: call.tool.as_ref().to_owned(),
            raw: call.raw,
            arguments: raw_json(&call.arguments),
            at_ms: call.at.as_secs_f64() * 1e3,
            ms: call.took.as_secs_f64() * 1e3,
            outcome: match &call.state {
                CallState::Ended(Ok(text)) => RecordedOutcome::Result(raw_json(text)),
                CallState::Ended(Err(fault)) => RecordedOutcome::Error(Fault::clone(fault)),
                CallState::Open | CallState::Asked => RecordedOutcome::Open,
            },
        }
    }

    fn into_logged_call(self) -> LoggedCall {
        let duration = |ms: f64| Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default();
        LoggedCall {
            tool: self.tool.into(),
            raw: self.raw,
            arguments: self.arguments.get().into(),
            number: None,
            at: duration(self.at_ms),
            took: duration(self.ms),
            state: match self.outcome {
                RecordedOutcome::Result(text) => CallState::Ended(Ok(text.get().into())),
                RecordedOutcome::Error(fault) => CallState::Ended(Err(Arc::new(fault))),
                RecordedOutcome::Open => CallState::Open,
            },
        }
    }
}

impl RecordedOutcome {
    pub(super) fn of(outcome: &Result<String, Fault>) -> Self {
        match outcome {
            Ok(text) => Self::Result(raw_json(text)),
            Err(fault) => Self::Error(fault.clone()),
        }
    }
}

/// JSON stays unchanged. Text that is not JSON becomes a JSON string.
pub(crate) fn raw_json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned())
        .or_else(|_| serde_json::value::to_raw_value(text))
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}
