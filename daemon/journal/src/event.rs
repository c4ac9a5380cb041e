//! The events of a run that its readers see, in order.
//!
//! Call arguments and results are kept beside the entries (`call_log`), so that following a run does not transfer
//! them.

use std::time::Duration;

use mux_caller::{ApprovalOutcome, ApprovalRequest, ProgressUpdate};
use mux_handles::{InlineOrStored, ValueHandle};
use mux_wire::{ConsoleLevel, Fault};
use serde::{Deserialize, Serialize};

/// The size of an entry beyond its text.
pub(crate) const ENTRY_OVERHEAD_BYTES: usize = 128;

/// One event of a run, with its sequence number.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SequencedEvent {
    pub seq: u64,
    /// Time since the run was accepted.
    pub at: Duration,
    pub what: RunEvent,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum RunEvent {
    /// Findings of the type checker. Comes before `Started`, and only if there are any.
    Checked {
        warnings: Vec<Fault>,
        /// The reason the types were not checked.
        unchecked: Option<String>,
    },
    Started,
    ServerStarting {
        server: String,
    },
    ServerReady {
        server: String,
        took: Duration,
    },
    CallStarted {
        call: u32,
        path: String,
    },
    CallProgress {
        call: u32,
        path: String,
        progress: ProgressUpdate,
    },
    CallEnded {
        call: u32,
        path: String,
        took: Duration,
        /// The length of the result in bytes, or the fault without its details.
        outcome: Result<usize, Fault>,
    },
    /// An event of a step in a step program. The calls of steps have their own events.
    Step(StepEvent),
    Console {
        level: ConsoleLevel,
        text: String,
    },
    /// An MCP content block.
    Emitted(InlineOrStored),
    /// This run resumes `run`. `calls` is the number of its calls that are answered from its journal instead of being
    /// repeated.
    Resumed {
        run: String,
        calls: usize,
    },
    /// A call waits for approval.
    ApprovalAsked(ApprovalRequest),
    /// A call no longer waits for approval.
    ApprovalOver {
        approval: String,
        path: String,
        ending: ApprovalOutcome,
    },
    /// The requested recording is stored.
    Recorded(ValueHandle),
    /// The result or the fault of the run.
    Ended(Result<InlineOrStored, Fault>),
}

/// An event of one step.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct StepEvent {
    pub step: String,
    pub tool: String,
    pub progress: StepProgress,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum StepProgress {
    /// The step starts. Its call is next.
    Started { description: Option<String> },
    /// The step has ended. A successful outcome is the length of its result in bytes.
    Ended {
        took: Duration,
        outcome: Result<usize, Fault>,
    },
    /// The step never starts.
    Skipped { reason: String },
}

impl RunEvent {
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, Self::Ended(_))
    }

    /// The approximate size of the event, in memory and in a frame.
    pub(crate) fn bytes(&self) -> usize {
        let text = match self {
            Self::Console { text, .. } => text.len(),
            Self::Emitted(value) | Self::Ended(Ok(value)) => match value {
                InlineOrStored::Inline(text) => text.len(),
                InlineOrStored::Stored(handle) => handle.preview.len(),
            },
            Self::Checked { warnings, .. } => {
                let words = |fault: &Fault| fault.message.len() + ENTRY_OVERHEAD_BYTES;
                warnings.iter().map(words).sum()
            }
            Self::ApprovalAsked(request) => request.arguments.len() + request.path.len(),
            Self::CallProgress { progress, .. } => progress.message.as_ref().map_or(0, String::len),
            Self::Step(event) => event.bytes(),
            Self::CallEnded {
                outcome: Err(fault),
                ..
            }
            | Self::Ended(Err(fault)) => fault_bytes(fault),
            _ => 0,
        };
        text + ENTRY_OVERHEAD_BYTES
    }
}

impl StepEvent {
    fn bytes(&self) -> usize {
        match &self.progress {
            StepProgress::Started { description } => description.as_ref().map_or(0, String::len),
            StepProgress::Ended { outcome, .. } => outcome.as_ref().err().map_or(0, fault_bytes),
            StepProgress::Skipped { reason } => reason.len(),
        }
    }
}

/// The size of a fault's strings.
pub(crate) fn fault_bytes(fault: &Fault) -> usize {
    let more = [&fault.hint, &fault.path, &fault.details];
    let more = more.into_iter().flatten().map(String::len);
    fault.message.len() + more.sum::<usize>()
}

/// The fault without its machine-readable details.
pub(crate) fn without_details(fault: &Fault) -> Fault {
    Fault {
        details: None,
        ..fault.clone()
    }
}
