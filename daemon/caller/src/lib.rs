//! Who makes a call, and what a client receives or is asked without having requested it.
//!
//! It knows `mux-telemetry` for the trace of a call. It knows no server, tool or run.
//!
//! - `caller` is on whose behalf something is sent to a server, `client_origin` which client and agent is at the other end of
//!   a connection, `run_access` which runs it may reach, `activity` whether this daemon is still needed.
//! - `mailbox` has one connection's notices and questions in a `notice_queue`; `list_changes` says that the pool offers something else
//!   than before; `pausable_clock` is a clock that is paused while the client is asked.
//!
//! A connection has a [`Mailbox`]; what is sent to a server carries its [`Caller`], so that what the server says
//! meanwhile finds its way back.
//!
//! Each connection has a `RunAccess`: the user's own clients reach every run, also by number; a client that names an
//! agent, or speaks for one, reaches runs of the same client and agent by their whole, random ids. What it hides is
//! answered `not_found`. `tests/it/ownership/table` has a row for each method and tool.
//!
//! Invariants:
//!
//! - What is kept for a client is bounded, whatever servers say, and an open question is never dropped.
//! - A limit that is kept by a `PausableClock` does not count the time in which it was paused.

pub mod activity;
mod caller;
mod client_origin;
mod list_changes;
mod mailbox;
mod notice_queue;
mod pausable_clock;
mod run_access;

use std::time::Duration;

use serde_json::Value;

pub use self::{
    caller::Caller,
    client_origin::{ClientOrigin, one_line},
    list_changes::{ListChangeNotifier, ListChanges},
    mailbox::{ClientQuestion, Mailbox, PendingQuestion},
    pausable_clock::{ClockMark, ClockPauseGuard, PausableClock},
    run_access::RunAccess,
};

/// One thing that a client is told.
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
        /// None if muxd itself asks.
        server: Option<String>,
        cause: CallCause,
        kind: QuestionKind,
        /// The server's own name for the question, where it has one.
        key: Option<String>,
        params: Value,
    },
    /// What a user was asked to do on a page is done.
    ElicitationComplete {
        server: String,
        /// As the question had it.
        id: String,
        cause: CallCause,
    },
    /// Nobody waits for the answer any more.
    Withdrawn {
        ask: u64,
    },
    /// Another daemon has taken over from this one.
    Leaving,
    /// A call of this connection waits for somebody's approval.
    ApprovalAsked {
        cause: CallCause,
        asked: ApprovalRequest,
    },
    /// It waits no more.
    ApprovalOver {
        cause: CallCause,
        approval: String,
        path: String,
        ending: ApprovalOutcome,
    },
}

/// What whoever may approve a call is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRequest {
    /// `A7`
    pub approval: String,
    pub path: String,
    /// JSON text, or the beginning of it.
    pub arguments: String,
    /// Its length.
    pub bytes: usize,
    pub rule: String,
    pub reason: Option<String>,
    /// Names what `session` and `always` cover: calls that have the same.
    pub cover: String,
    /// A server wants to ask this of its client: it is no call.
    pub from_server: bool,
    /// How long its program waits from now on.
    pub wait: Duration,
}

/// What became of a call that had to be approved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ApprovalOutcome {
    Approved,
    Denied,
    /// Nobody answered in time.
    Pending,
}

/// What of a connection made something happen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CallCause {
    Run(String),
    /// The client's own name for a call, or an empty text.
    Call(String),
}

impl Default for CallCause {
    fn default() -> Self {
        Self::Call(String::new())
    }
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressUpdate {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// What a server may want to know.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum QuestionKind {
    Elicitation,
    Sampling,
    Roots,
    /// Whether a call may be made; of a client that knows more than yes and no.
    Approval,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ClientAnswer {
    /// As MCP has it.
    Result(Value),
    /// It cannot be answered; why.
    Refused(String),
}
