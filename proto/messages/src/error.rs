//! The error type of programs, command line, MCP and socket.
//!
//! Invariant: a kind that this build does not know is passed on unchanged. Old clients can therefore show the errors
//! of a newer daemon.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Kind;

/// The kind of an error, whether this build knows it or not.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnyKind {
    Known(Kind),
    /// A kind that only newer builds know.
    Other(String),
}

impl AnyKind {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(kind) => kind.as_str(),
            Self::Other(name) => name,
        }
    }

    /// The kind, unless only newer builds know it.
    pub fn known(&self) -> Option<Kind> {
        match self {
            Self::Known(kind) => Some(*kind),
            Self::Other(_) => None,
        }
    }

    /// The exit code of a command. A kind that only newer builds know is no fault of the program.
    pub fn exit_code(&self) -> u8 {
        self.known().unwrap_or(Kind::Internal).exit_code()
    }
}

impl From<Kind> for AnyKind {
    fn from(kind: Kind) -> Self {
        Self::Known(kind)
    }
}

impl PartialEq<Kind> for AnyKind {
    fn eq(&self, kind: &Kind) -> bool {
        self.known() == Some(*kind)
    }
}

impl fmt::Display for AnyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The answer to a request of the contract.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure that a person or a program can act on.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, thiserror::Error)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "Fault")
)]
#[error("{message}")]
pub struct Error {
    pub kind: AnyKind,
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
    pub fn new(kind: impl Into<AnyKind>, message: impl Into<String>) -> Self {
        let kind = kind.into();
        Self {
            recoverable: kind.known().is_some_and(Kind::is_recoverable),
            kind,
            message: message.into(),
            hint: None,
            agent_hint: None,
            line: None,
            column: None,
            path: None,
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

/// The known kinds with their documentation, and any other word.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for AnyKind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Kind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        use strum::{EnumMessage as _, IntoEnumIterator as _};
        let known = Kind::iter().map(
            |kind| serde_json::json!({ "description": kind.get_documentation(), "const": kind }),
        );
        let other = serde_json::json!({
            "description": "A kind that only newer builds know.",
            "type": "string",
        });
        let all: Vec<Value> = known.chain([other]).collect();
        schemars::json_schema!({ "anyOf": all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_kinds_are_read_and_unknown_kinds_are_preserved() {
        let known: AnyKind = serde_json::from_str("\"not_found\"").unwrap();
        assert_eq!(known, Kind::NotFound);
        assert_eq!(serde_json::to_string(&known).unwrap(), "\"not_found\"");
        let newer: AnyKind = serde_json::from_str("\"quota\"").unwrap();
        assert_eq!(newer, AnyKind::Other("quota".into()));
        assert_eq!(serde_json::to_string(&newer).unwrap(), "\"quota\"");
        assert_eq!(newer.exit_code(), 3);
    }
}
