//! What a client is told, and asked, without having asked for it; and for whom a call is made.
//!
//! A connection has a [`Mailbox`]; what is sent to a server carries its [`Caller`], so that what the
//! server says meanwhile finds the way back.
//! Invariant: what is kept for a client is bounded, whatever servers say, and a question that is open
//! is never dropped.

pub mod activity;
mod caller;
mod clock;
mod line;
mod mailbox;
mod news;
mod origin;
mod run_access;

use std::time::Duration;

use serde_json::Value;

pub use self::{
    caller::Caller,
    clock::{Clock, Mark, Standing},
    mailbox::{Asked, Mailbox, Question},
    news::{Changed, News},
    origin::{Origin, one_line},
    run_access::RunAccess,
};

/// One thing that a client is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    Changed(Changed),
    /// A resource to which the connection subscribed.
    ResourceUpdated {
        server: String,
        uri: String,
    },
    Progress {
        cause: Cause,
        progress: Progress,
    },
    Log {
        server: String,
        level: String,
        logger: Option<String>,
        data: Value,
        cause: Cause,
    },
    Ask {
        ask: u64,
        /// None if muxd itself asks.
        server: Option<String>,
        cause: Cause,
        kind: AskKind,
        /// The server's own name for the question, where it has one.
        key: Option<String>,
        params: Value,
    },
    /// What a user was asked to do on a page is done.
    ElicitationComplete {
        server: String,
        /// As the question had it.
        id: String,
        cause: Cause,
    },
    /// Nobody waits for the answer any more.
    Withdrawn {
        ask: u64,
    },
    /// Another daemon has taken over from this one.
    Leaving,
    /// A call of this connection waits for somebody's approval.
    ApprovalAsked {
        cause: Cause,
        asked: Request,
    },
    /// It waits no more.
    ApprovalOver {
        cause: Cause,
        approval: String,
        path: String,
        ending: Ending,
    },
}

/// What whoever may approve a call is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
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
pub enum Ending {
    Approved,
    Denied,
    /// Nobody answered in time.
    Pending,
}

/// What of a connection made something happen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Cause {
    Run(String),
    /// The client's own name for a call, or an empty text.
    Call(String),
}

impl Default for Cause {
    fn default() -> Self {
        Self::Call(String::new())
    }
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// What a server may want to know.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AskKind {
    Elicitation,
    Sampling,
    Roots,
    /// Whether a call may be made; of a client that knows more than yes and no.
    Approval,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// As MCP has it.
    Result(Value),
    /// It cannot be answered; why.
    Refused(String),
}
