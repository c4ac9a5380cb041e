//! The reasons a call has no result.
//!
//! Invariant: an error says whether the call may have had effects.

use std::time::Duration;

use serde_json::Value;

use crate::link::AuthChallenge;
use mux_sources::CallFailure;

/// The reason a call has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// Not sent.
    #[error("the session had ended before the call was sent")]
    NotSent,
    /// Sent, with an unknown outcome.
    #[error("no answer came: {0}")]
    Unknown(String),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// Refused: the user has to sign in first.
    #[error("{0}")]
    SignIn(AuthChallenge),
    /// Not sent: a credential is missing or unusable.
    #[error("{why}")]
    Credential { why: String, fix: String },
    /// Not sent: the target is an address that the user has not allowed.
    #[error("{why}")]
    Forbidden { why: String, fix: String },
    /// Not sent: the arguments do not form a request.
    #[error("{0}")]
    Unfit(String),
    /// Refused by the server before processing.
    #[error("{0}")]
    Declined(String),
    /// The total time limit was exceeded.
    #[error("longer than {0:?} in all")]
    TooLong(Duration),
    /// The server answered with a protocol error.
    #[error("{message}")]
    Refused {
        code: i32,
        message: String,
        data: Option<Value>,
    },
    /// The tool tried to send a request, which its server cannot do over this session.
    #[error("{}", .0.message)]
    NoBackChannel(Box<NoBackChannel>),
    /// The server's answer exceeds a limit.
    #[error("{0}")]
    TooMuch(String),
    #[error("{0}")]
    Protocol(String),
}

impl From<serde_json::Error> for CallError {
    /// The server's answer does not have the expected shape.
    fn from(error: serde_json::Error) -> Self {
        Self::Protocol(error.to_string())
    }
}

impl From<CallFailure> for CallError {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::Unknown(_) | CallFailure::Unfit(_) => Self::Unfit(failure.to_string()),
            CallFailure::Credential { why, fix } => Self::Credential { why, fix },
            CallFailure::Forbidden { why, fix } => Self::Forbidden { why, fix },
            CallFailure::TooMuch(text) => Self::TooMuch(text),
            CallFailure::Declined(text) => Self::Declined(text),
            CallFailure::Lost(text) => Self::Unknown(text),
        }
    }
}

/// A call failure because the tool could not send a request.
#[derive(Clone, Debug)]
pub struct NoBackChannel {
    /// The server's error text.
    pub message: String,
    /// Structured details: the error's code and data, or the content of the result.
    pub details: Value,
    pub remedy: BackChannelRemedy,
}

/// The handling of a session whose tools need the legacy era.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BackChannelRemedy {
    /// The next call gets a session in the legacy era.
    Reopened,
    /// Calls get a session in the legacy era once the other calls on this one have ended.
    WhenIdle,
    /// The server's entry sets the era, so it is not changed.
    Configured,
    /// The server does not support the legacy era.
    NoOther,
}
