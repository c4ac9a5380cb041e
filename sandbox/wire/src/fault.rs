//! [`Fault`], the error type of every layer below the client socket.

use mux_messages::Error;
pub use mux_messages::Kind as FaultKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::json_depth;

/// The maximum length of details that clients get.
const MAX_DETAIL_BYTES: usize = 4 << 20;

/// A failure, with the information that a user or an agent needs to act on it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
    pub hint: Option<String>,
    /// Replaces the hint for agents, which have tools where users have commands.
    pub agent_hint: Option<String>,
    /// Counted from 1 in the user's own source.
    pub line: Option<u32>,
    /// Counted from 1, in UTF-16 code units, as editors and V8 count.
    pub column: Option<u32>,
    /// The path of the tool or builtin that failed.
    pub path: Option<String>,
    pub recoverable: bool,
    /// Machine-readable details, as JSON.
    pub details: Option<String>,
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let recoverable = kind.is_recoverable();
        Self {
            kind,
            message: message.into(),
            recoverable,
            ..Self::default()
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets a hint for the command line, and the same advice for agents.
    #[must_use]
    pub fn hints(mut self, command_line: impl Into<String>, agent: impl Into<String>) -> Self {
        self.hint = Some(command_line.into());
        self.agent_hint = Some(agent.into());
        self
    }

    /// Sets a hint that only a user at this machine can follow. Agents are asked to pass it on.
    #[must_use]
    pub fn user_hint(self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        let passed_on = format!("for the user, in a terminal: {hint}");
        self.hints(hint, passed_on)
    }

    /// Replaces the hint by the agent's hint, if there is one.
    #[must_use]
    pub fn for_agents(mut self) -> Self {
        self.hint = self.agent_hint.take().or(self.hint);
        self
    }

    /// The error in an event of a run, without details.
    pub fn to_event_error(&self) -> Error {
        let fault = Self {
            details: None,
            ..self.clone()
        };
        fault.into()
    }

    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self {
            kind: fault.kind.into(),
            message: fault.message,
            hint: fault.hint,
            agent_hint: fault.agent_hint,
            line: fault.line,
            column: fault.column,
            path: fault.path,
            recoverable: fault.recoverable,
            details: fault.details.map(|text| error_details(&text)),
        }
    }
}

/// Details are auxiliary: only their length is sent if they are too long.
fn error_details(text: &str) -> Value {
    let is_short = text.len() <= MAX_DETAIL_BYTES && json_depth::check(text, "").is_ok();
    let details = if is_short {
        serde_json::from_str(text).ok()
    } else {
        None
    };
    details.unwrap_or_else(|| json!({ "omitted_bytes": text.len() }))
}
