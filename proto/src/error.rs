//! The error type of programs, command line, MCP and socket.
//!
//! Invariant: a kind that this build does not know is passed on unchanged. Old clients can therefore show the errors
//! of a newer daemon.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of a failure, in one word.
#[derive(
    Clone,
    Debug,
    Deserialize,
    Eq,
    Hash,
    PartialEq,
    Serialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// The program cannot be parsed. Nothing was executed.
    Syntax,
    /// The program does not match the tools' types. Nothing was executed.
    Type,
    /// The program threw.
    Runtime,
    /// A tool reported an error.
    Tool,
    /// Arguments or a result do not fit their schema.
    Validation,
    /// No such server, tool, run, handle or file.
    NotFound,
    /// A time limit was exceeded, which the message names.
    Timeout,
    /// The program used too much memory.
    Memory,
    /// Another limit was reached, which the message names.
    Limit,
    /// All resources are in use; try again.
    Busy,
    /// The program waits for something that cannot happen.
    Deadlock,
    /// The call or run was cancelled.
    Cancelled,
    /// Policy denies it.
    Denied,
    /// A user must approve the call, and did not in time. `resume_run` continues the run.
    Pending,
    /// The user must log in first.
    AuthRequired,
    /// The server or the daemon cannot be reached. Nothing was done.
    Unavailable,
    /// The call was sent and no answer came: it may or may not have happened.
    UnknownOutcome,
    /// An error in muxd itself.
    Internal,
    /// A kind that only newer builds know.
    #[serde(untagged)]
    #[strum(disabled)]
    Other(String),
}

impl Kind {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.into(),
        }
    }

    pub fn from_name(name: &str) -> Self {
        name.parse()
            .unwrap_or_else(|_| Self::Other(name.to_owned()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The answer to a request of the contract.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure that a person or a program can act on.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, thiserror::Error)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Fault"))]
#[error("{message}")]
pub struct Error {
    pub kind: Kind,
    /// A description of the failure, with the values that matter.
    pub message: String,
    /// The fix.
    pub hint: Option<String>,
    /// The hint for an agent, used instead of `hint`. It names tools where `hint` names commands.
    pub agent_hint: Option<String>,
    /// The line in the user's source, counted from 1.
    pub line: Option<u32>,
    /// The column, counted from 1 in UTF-16 code units.
    pub column: Option<u32>,
    /// The `server.tool` that failed, if any.
    pub path: Option<String>,
    /// True if other code or other arguments can succeed.
    #[serde(default)]
    pub recoverable: bool,
    /// Data for programs, such as a tool's own content.
    pub details: Option<Value>,
}

impl Error {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let recoverable = matches!(
            kind,
            Kind::Syntax
                | Kind::Type
                | Kind::Runtime
                | Kind::Validation
                | Kind::NotFound
                | Kind::Limit
        );
        Self {
            kind,
            message: message.into(),
            hint: None,
            agent_hint: None,
            line: None,
            column: None,
            path: None,
            recoverable,
            details: None,
        }
    }

    /// Returns true if a daemon refused this because it was ending. Nothing was done, and the request can be
    /// repeated at the next daemon.
    pub fn is_ending(&self) -> bool {
        let marked = |details: &Value| details["ending"] == true;
        self.kind == Kind::Unavailable && self.details.as_ref().is_some_and(marked)
    }

    /// The error for an agent, with `agent_hint` as its hint if there is one.
    #[must_use]
    pub fn for_agents(mut self) -> Self {
        self.hint = self.agent_hint.take().or(self.hint);
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_kinds_keep_their_names_and_unknown_kinds_are_preserved() {
        for name in [
            "syntax",
            "type",
            "runtime",
            "tool",
            "validation",
            "not_found",
            "timeout",
            "memory",
            "limit",
            "busy",
            "deadlock",
            "cancelled",
            "denied",
            "pending",
            "auth_required",
            "unavailable",
            "unknown_outcome",
            "internal",
        ] {
            let kind = Kind::from_name(name);
            assert!(!matches!(kind, Kind::Other(_)), "{name}");
            assert_eq!(kind.as_str(), name);
            assert_eq!(serde_json::to_value(&kind).unwrap(), name);
            assert_eq!(serde_json::from_value::<Kind>(name.into()).unwrap(), kind);
        }
        let newer: Kind = serde_json::from_str("\"quota\"").unwrap();
        assert_eq!(newer, Kind::Other("quota".into()));
        assert_eq!(serde_json::to_string(&newer).unwrap(), "\"quota\"");
    }

    #[test]
    fn an_error_of_an_older_build_is_read_with_defaults() {
        let error: Error = serde_json::from_str(r#"{"kind":"tool","message":"no"}"#).unwrap();
        assert_eq!(
            error,
            Error {
                recoverable: false,
                ..Error::new(Kind::Tool, "no")
            }
        );
    }
}
