//! The file format of a recording.
//!
//! Invariant: a file of another version is rejected, never partially read.

use mux_wire::{Fault, FaultKind};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use mux_approvals::call_fingerprint::call_key;
use mux_program::ProgramLanguage;
use mux_text::digest::DigestKey;

/// The current format version, and the only one so far.
const RECORDING_VERSION: u32 = 1;
/// The maximum size of a recording. A recording comes back from the client in one message, whose frame is at most 16
/// MiB.
pub(super) const MAX_RECORDING_BYTES: usize = 12 << 20;

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
    pub fn language(&self) -> ProgramLanguage {
        if self.steps {
            ProgramLanguage::Json
        } else {
            ProgramLanguage::TypeScript
        }
    }
}

impl RecordedCall {
    pub(super) fn key(&self) -> DigestKey {
        call_key(&self.tool, self.raw, self.arguments.get())
    }
}

impl RecordedOutcome {
    pub fn of(outcome: &Result<String, Fault>) -> Self {
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
