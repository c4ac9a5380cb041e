//! Sources: APIs that the daemon calls itself, by their descriptions.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The state of a source, in addition to that of a server.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceInfo {
    /// `openapi` or `graphql`. Absent if its entry cannot be read.
    pub kind: Option<String>,
    /// When the description was last known to be current, in milliseconds since 1970. Absent for a file, and before
    /// the first fetch.
    pub fetched_ms: Option<u64>,
    /// Why a newer description is not used.
    pub problem: Option<String>,
    /// The security schemes that the functions need and for which no credential is configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Remarks on the description and the credentials. Each is also among the server's warnings, as the message
    /// followed by a semicolon and the fix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SourceNote>,
    /// The number of HTTP requests since the description was read.
    pub requests: u64,
}

/// A remark on a source, for the user.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceNote {
    pub text: String,
    /// The fix, if there is exactly one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl SourceNote {
    pub fn with_fix(text: String, fix: String) -> Self {
        let fix = Some(fix);
        Self { text, fix }
    }
}

impl From<String> for SourceNote {
    fn from(text: String) -> Self {
        Self { text, fix: None }
    }
}

impl fmt::Display for SourceNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fix {
            Some(fix) => write!(f, "{}; {fix}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// The changes of a source's reloaded description, by the names of its functions.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefreshedSource {
    pub source: String,
    /// The number of functions now.
    pub functions: usize,
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
    /// New origins, at which functions are called or tokens are fetched since the reload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// New remarks for the user since the reload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl RefreshedSource {
    /// Returns true if the functions and the origins did not change.
    pub fn is_same(&self) -> bool {
        let names = [&self.added, &self.removed, &self.changed, &self.origins];
        names.iter().all(|names| names.is_empty())
    }
}
