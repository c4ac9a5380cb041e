//! Runs: their requests, events and outcomes, and the values that are too long for a message.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, JsonText, Language};

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRequest {
    /// The program, in TypeScript or JavaScript unless `language` differs.
    pub source: String,
    #[serde(default, skip_serializing_if = "Language::is_typescript")]
    pub language: Language,
    /// The name in run lists, such as the name of the program's file. The daemon shortens it to one line. Defaults to
    /// the comment that the program begins with, or its first line of code, also if empty.
    pub name: Option<String>,
    /// `mux.input`.
    #[serde(default)]
    pub input: JsonText,
    /// The limit of wall time, 1,000 to 300,000. Defaults to the daemon's setting.
    pub timeout_ms: Option<u64>,
    /// The W3C trace context of the caller. An invalid context is ignored. Otherwise the calls of the run join this
    /// trace, which is passed on to their servers.
    pub traceparent: Option<String>,
    /// The W3C `tracestate` of the caller.
    pub tracestate: Option<String>,
    /// Whether the run continues when this connection ends, and keeps an idle daemon alive. A daemon that is stopped
    /// waits for a detached run as for every other run, and then cancels it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detach: bool,
    /// Whether to skip the type check, regardless of the configuration.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_check: bool,
    /// Whether to record the program's input and calls, which the event [`recorded`](EventKind::Recorded)
    /// then returns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record: bool,
    /// A recording to replay: its program is run instead of `source`, its calls are answered from the recording, and
    /// nothing is sent to any server. Source, language, input and timeout are taken from the recording.
    pub replay: Option<Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunStarted {
    /// The run's id: a random word, a dash, and a number that counts up.
    pub run: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventsRequest {
    pub run: String,
    /// The number of the last event that the client has; 0 for none.
    pub after: u64,
    pub wait_ms: u64,
}

/// Events in order, without gaps.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventPage {
    pub events: Vec<Event>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// Counts up from 1 within a run.
    pub seq: u64,
    /// Milliseconds since the run was accepted.
    pub at_ms: u64,
    pub event: EventKind,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The result of the check before the program starts, if there are warnings, or why its types were not checked.
    Checked {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<Error>,
        unchecked: Option<String>,
    },
    /// The program has an isolate and starts.
    Started {},
    /// A server that this run needs is being started.
    ServerStarting {
        server: String,
    },
    /// The server is ready.
    ServerReady {
        server: String,
        ms: u64,
    },
    CallStarted {
        call: u32,
        path: String,
    },
    /// The server reports the progress of a call.
    CallProgress {
        call: u32,
        path: String,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    CallEnded {
        call: u32,
        path: String,
        ms: f64,
        /// The length of the result as JSON, in bytes.
        bytes: usize,
        error: Option<Error>,
    },
    /// A step of a step program starts. Its call has separate events.
    StepStarted {
        step: String,
        tool: String,
        description: Option<String>,
    },
    StepEnded {
        step: String,
        tool: String,
        ms: f64,
        /// The length of the step's result as JSON, in bytes.
        bytes: usize,
        error: Option<Error>,
    },
    /// A step is skipped because of another step.
    StepSkipped {
        step: String,
        tool: String,
        reason: String,
    },
    Console {
        level: Level,
        text: String,
    },
    /// An image, audio or resource that the program emits besides its result, as a content block of MCP.
    Emitted {
        part: Held,
    },
    /// The run resumes this one. This many of its calls had ended, and are not sent again.
    Resumed {
        run: String,
        calls: usize,
    },
    /// A call waits for approval, and the clocks of the run are paused.
    ApprovalAsked(crate::ApprovalAsked),
    /// The approval was answered, or timed out.
    ApprovalOver(crate::ApprovalOver),
    /// The requested recording, as JSON to be read with `read`. Comes directly before the end.
    Recorded {
        recording: Handle,
    },
    /// The last event of every run.
    Ended {
        outcome: Outcome,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Debug,
    Log,
    Info,
    Warn,
    Error,
}

/// How a run ended.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Result(JsonText),
    /// A result that is too long for a message. Read it with `read`.
    Stored(Handle),
    Error(Error),
}

/// A value, or its handle: `{"value": …}` or `{"stored": {"handle": …, …}}`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Held {
    Value(JsonText),
    Stored(Handle),
}

impl From<Held> for Outcome {
    fn from(held: Held) -> Self {
        match held {
            Held::Value(value) => Self::Result(value),
            Held::Stored(handle) => Self::Stored(handle),
        }
    }
}

/// The result of a call, and its position among the notices of its connection.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallAnswer {
    pub result: Held,
    /// The number of the last notice before the answer; 0 if there was none.
    pub last_notice: u64,
}

/// A value that the daemon has stored because it is too long for a message.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Handle {
    /// Identifies the value by its content: equal values have the same handle.
    pub handle: String,
    /// The length of the JSON, in bytes.
    pub bytes: u64,
    /// The first 500 characters of the JSON. They are not valid JSON by themselves.
    pub preview: String,
    /// Milliseconds from now until the value expires, unless the space is needed before.
    pub expires_ms: u64,
}

/// A value to store.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeepRequest {
    pub value: JsonText,
}

/// Requests a page of a stored value.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadRequest {
    pub handle: String,
    /// The offset in the JSON, in bytes. An offset within a character is moved back to the character's start. Beyond
    /// the end, the page is empty.
    #[serde(default)]
    pub offset: u64,
    /// The length in bytes; 256 KiB if absent, 4 MiB at most. A page ends with a whole character and has at least one,
    /// unless 0 is requested, which returns the total only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadPage {
    /// A page of the JSON.
    pub text: String,
    /// The offset of the page, in bytes.
    pub offset: u64,
    /// The offset of the next page. Absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// The length of the whole JSON, in bytes.
    pub total: u64,
}

/// Which runs to list.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunsRequest {
    /// Whether to list only runs that have not ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub running: bool,
    /// The maximum number of runs, the latest first; 20 if absent. There may be fewer if they do not fit into a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Runs, the latest first.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunList {
    pub runs: Vec<RunInfo>,
    /// The number of matching runs, regardless of the limit.
    pub total: usize,
}

/// A run as it is listed. The history stores it as JSON, so a new field needs a default.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunInfo {
    pub run: String,
    pub state: RunState,
    /// The client that started the run, by the name that it gave in `hello`.
    pub client: String,
    pub agent: Option<String>,
    pub workspace: Option<PathBuf>,
    /// True if the run continues when its connection ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    /// The name that the run was started with, or the comment that the program begins with, or its first line of code.
    pub title: String,
    /// When the run was accepted, in milliseconds since the Unix epoch.
    pub accepted_ms: u64,
    /// Milliseconds from then to the run's end, or to now.
    pub ms: u64,
    /// The number of tool calls so far.
    pub calls: u32,
    /// The number of calls that have ended, successfully or not. Calls in flight at the run's end are not counted.
    pub calls_ended: u32,
    /// The number of calls that ended with an error.
    pub calls_failed: u32,
    /// The number of calls that wait for an approval now.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub approvals: u32,
    /// The error of a failed run, without its details: the last event has them.
    pub error: Option<Error>,
    /// The number of the run's last event.
    pub events: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunState {
    /// The run waits for a worker.
    Waiting,
    Running,
    Succeeded,
    Failed,
}
