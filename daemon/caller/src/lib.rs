//! The callers of calls, and the notices and questions that muxd sends to clients.
//!
//! This crate depends on `mux-telemetry` for the trace of a call, but not on servers, tools or runs.
//!
//! - `caller`: on whose behalf a request is sent to a server. `client_origin`: the client and agent of a connection.
//!   `run_access`: the runs that a connection may access. `activity`: whether the daemon is still in use.
//! - `mailbox`: one connection's notices, in a `notice_queue`, and its questions. `list_changes`: changes to the tool,
//!   resource and prompt lists. `pausable_clock`: a clock that is paused while a client is asked.
//!
//! A connection has a [`Mailbox`]. A request to a server carries its [`Caller`]. Messages that the server sends
//! meanwhile therefore reach the client.
//!
//! Each connection has a `RunAccess`: the user's own clients access every run, also by number. A client that names an
//! agent, or acts for one, accesses runs of the same client and agent by their full, random IDs. All other IDs are
//! `not_found`. `tests/it/ownership/table` has a row for each method and tool.
//!
//! Invariants:
//!
//! - The memory for a client is bounded, regardless of what servers send, and an open question is never dropped.
//! - A limit that is measured by a `PausableClock` does not count the time in which it was paused.

pub mod activity;
mod caller;
mod client_origin;
mod list_changes;
mod mailbox;
mod notice_queue;
mod pausable_clock;
mod run_access;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    caller::Caller,
    client_origin::{ClientOrigin, one_line},
    list_changes::{ListChangeNotifier, ListChanges},
    mailbox::{ClientQuestion, Mailbox, PendingQuestion},
    pausable_clock::{ClockMark, ClockPauseGuard, PausableClock},
    run_access::RunAccess,
};

/// A notice to a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientNotice {
    Changed(ListChanges),
    /// A resource to which the connection subscribed.
    ResourceUpdated {
        server: String,
        uri: String,
    },
    Progress {
        cause: CallCause,
        progress: ProgressUpdate,
    },
    Log {
        server: String,
        level: String,
        logger: Option<String>,
        data: Value,
        cause: CallCause,
    },
    Ask {
        ask: u64,
        /// `None` if muxd itself asks.
        server: Option<String>,
        cause: CallCause,
        /// The path of the tool whose call made the server ask, if it is known.
        tool: Option<Arc<str>>,
        kind: QuestionKind,
        /// The server's own key for the question, if it has one.
        key: Option<String>,
        params: Value,
    },
    /// The user has completed a URL elicitation.
    ElicitationComplete {
        server: String,
        /// The elicitation ID of the question.
        id: String,
        cause: CallCause,
    },
    /// The answer is no longer needed.
    Withdrawn {
        ask: u64,
    },
    /// A server's question that the client does not answer, or that it does not get for this reason.
    Declined {
        server: String,
        kind: QuestionKind,
        cause: CallCause,
        why: Option<String>,
    },
    /// Another daemon has taken over from this one.
    Leaving,
    /// A call of this connection waits for approval.
    ApprovalAsked {
        cause: CallCause,
        asked: ApprovalRequest,
    },
    /// The call no longer waits.
    ApprovalOver {
        cause: CallCause,
        approval: String,
        path: String,
        ending: ApprovalOutcome,
    },
}

/// A call that waits for approval, as shown to clients that may approve it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ApprovalRequest {
    /// `A7`
    pub approval: String,
    pub path: String,
    /// Raw JSON, possibly cut.
    pub arguments: String,
    /// The length of the whole arguments in bytes.
    pub bytes: usize,
    pub rule: String,
    pub reason: Option<String>,
    /// Identifies what `session` and `always` cover: calls with the same value.
    pub cover: String,
    /// True if this is not a call but a request from a server to its client.
    pub from_server: bool,
    /// How long the call waits for an answer.
    pub wait: Duration,
}

/// How the wait for an approval ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum ApprovalOutcome {
    Approved,
    Denied,
    /// There was no answer in time.
    Pending,
}

/// The run or call of a connection that causes a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CallCause {
    Run(String),
    /// The client's own ID for a call, or an empty string.
    Call(String),
}

impl Default for CallCause {
    fn default() -> Self {
        Self::Call(String::new())
    }
}

/// The progress of a call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ProgressUpdate {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// The kind of a question to a client.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum QuestionKind {
    Elicitation,
    Sampling,
    Roots,
    /// Asks whether a call may be made. For clients that support all decisions.
    Approval,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ClientAnswer {
    /// The result as in MCP.
    Result(Value),
    /// The client cannot answer, with the reason.
    Refused(String),
}
