//! The callers of calls, and the notices and questions that muxd sends to clients.
//!
//! This crate depends on `mux-telemetry` for the trace of a call and on `mux-messages` for notices, but not on servers,
//! tools or runs.
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

/// The messages that this crate sends to clients, by the names that they have in the daemon.
pub use mux_messages::{
    Answer as ClientAnswer, ApprovalAsked as ApprovalRequest, ApprovalEnding as ApprovalOutcome,
    AskKind as QuestionKind, Cause as CallCause, NoticeKind as ClientNotice,
};

pub use self::{
    caller::Caller,
    client_origin::{ClientOrigin, one_line},
    list_changes::{ListChangeNotifier, ListChanges},
    mailbox::{ClientQuestion, Mailbox, PendingQuestion},
    pausable_clock::{ClockMark, ClockPauseGuard, PausableClock},
    run_access::RunAccess,
};

/// The progress of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressUpdate {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}
