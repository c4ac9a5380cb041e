//! Runs: what is asked for, what happens in one, how it ends, and the values that are too long for a
//! message.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Language};

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct RunRequest {
    /// TypeScript or JavaScript, if `language` does not say otherwise.
    pub source: String,
    #[serde(default, skip_serializing_if = "Language::is_typescript")]
    pub language: Language,
    /// `mux.input`.
    #[serde(default)]
    pub input: Value,
    /// Wall time, 1,000 to 300,000; the daemon's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// W3C trace context of the caller. What cannot be read is dropped; the calls of the run stand in this
    /// trace, and their servers are told so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What belongs to it, as W3C has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// The run goes on when this connection ends, and keeps an idle daemon from leaving. A daemon that
    /// is told to stop waits for it as for every other, and then cancels it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detach: bool,
    /// Whatever the configuration says, the types of the program are not looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_check: bool,
    /// All that the program asks for and is told is kept, and handed over by [`EventKind::Recorded`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record: bool,
    /// A recording: its program is run in place of `source`, is answered from it, and nothing is sent to
    /// any server. Its source, language, input and timeout are those of the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunStarted {
    /// A random word, a dash, and a number that counts up.
    pub run: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EventsRequest {
    pub run: String,
    /// The number of the last event that the client has; 0 for none.
    pub after: u64,
    pub wait_ms: u64,
}

/// Events in order, without gaps.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EventPage {
    pub events: Vec<Event>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Event {
    /// Counts up from 1 within a run.
    pub seq: u64,
    /// Milliseconds since the run was accepted.
    pub at_ms: u64,
    pub event: EventKind,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// What was found in the program before it began, if anything was, or why its types were not looked
    /// at.
    Checked {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<Error>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unchecked: Option<String>,
    },
    /// The program has an isolate and begins.
    Started {},
    /// A server that this run needs is being started.
    ServerStarting {
        server: String,
    },
    /// That server is ready.
    ServerReady {
        server: String,
        ms: u64,
    },
    CallStarted {
        call: u32,
        path: String,
    },
    /// The server tells how far a call is.
    CallProgress {
        call: u32,
        path: String,
        progress: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    CallEnded {
        call: u32,
        path: String,
        ms: f64,
        /// Size of the JSON that the program got.
        bytes: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Error>,
    },
    /// A step of a JSON program begins; its call has events of its own. Those of steps are sent to clients with
    /// the feature `program`, and as lines of the console to others.
    StepStarted {
        step: String,
        tool: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    StepEnded {
        step: String,
        tool: String,
        ms: f64,
        /// Size of its result as JSON.
        bytes: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Error>,
    },
    /// It never begins, because of another step.
    StepSkipped {
        step: String,
        tool: String,
        reason: String,
    },
    Console {
        level: Level,
        text: String,
    },
    /// An image, audio or resource that the program hands over beside its result, as MCP's content
    /// blocks have it.
    Emitted {
        part: Held,
    },
    /// The run goes on with what this one began: so many of its calls had ended, and are not sent again.
    Resumed {
        run: String,
        calls: usize,
    },
    /// A call waits for somebody's approval, and the clocks of the run stand still.
    ApprovalAsked(crate::ApprovalAsked),
    /// It waits no more.
    ApprovalOver(crate::ApprovalOver),
    /// The recording that was asked for, as JSON text that is read with `read`. Comes right before the end.
    Recorded {
        recording: Handle,
    },
    /// The last event of every run.
    Ended {
        outcome: Outcome,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
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
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Result(Value),
    /// A result that is too long to stand in a message; it is read with `read`.
    Stored(Handle),
    Error(Error),
}

/// A value, or where it is kept: `{"value": …}` or `{"stored": {"handle": …, …}}`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    Value(Value),
    Stored(Handle),
}

/// A value that is kept by the daemon because it is too long to stand in a message.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Handle {
    /// Names the value by its content: the same value has the same handle.
    pub handle: String,
    /// Length of its JSON text.
    pub bytes: u64,
    /// The first 500 characters of the JSON text; no JSON by themselves.
    pub preview: String,
    /// Milliseconds from now until it is forgotten, if the space is not needed before.
    pub expires_ms: u64,
}

/// A part of a value that is kept.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReadRequest {
    pub handle: String,
    /// In bytes of the JSON text. Within a character it is moved back to where that begins; behind the
    /// end the page is empty.
    #[serde(default)]
    pub offset: u64,
    /// In bytes; 256 KiB if absent. More than 4 MiB is the same as 4 MiB. A page ends with a whole
    /// character and has one at least, unless 0 is asked for, which tells the total only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ReadPage {
    /// A piece of the JSON text.
    pub text: String,
    /// Where the piece begins.
    pub offset: u64,
    /// Where the next page begins; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Length of the whole in bytes.
    pub total: u64,
}

/// Which runs to list.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct RunsRequest {
    /// Only those that have not ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub running: bool,
    /// The latest so many; 20 if absent. The answer may have fewer if they would not fit into a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Runs that are kept, the latest first.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunList {
    pub runs: Vec<RunInfo>,
    /// How many match, whatever the limit.
    pub total: usize,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunInfo {
    pub run: String,
    pub state: RunState,
    /// The program that asked for it, by the name that it gave in `hello`.
    pub client: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
    /// It does not end with the connection that started it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    /// The first line of the program that says something.
    pub title: String,
    /// Milliseconds since the Unix epoch.
    pub accepted_ms: u64,
    /// From then to its end, or to now.
    pub ms: u64,
    /// Tool calls that were sent so far.
    pub calls: u32,
    /// Those that have ended, well or not. What was on its way when the run ended never does.
    pub calls_ended: u32,
    /// Those that ended with an error.
    pub calls_failed: u32,
    /// How it failed, if it did, without details: its last event has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// The number of its last event.
    pub events: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunState {
    /// In line for a worker.
    Waiting,
    Running,
    Succeeded,
    Failed,
}
