//! APIs that are described and no MCP servers.

use serde::{Deserialize, Serialize};

/// What there is to say of a source beside what it has in common with servers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SourceInfo {
    /// `openapi` or `graphql`; absent if its entry cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// When the description was last known to be right, in milliseconds since 1970; absent for a file, and before
    /// it was first fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_ms: Option<u64>,
    /// Why a newer description is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The security schemes that its functions need and for which no credential is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What a user should look at, of its description and its credentials; all of it is among the server's warnings,
    /// too, the text and behind a semicolon what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SourceNote>,
    /// HTTP requests since its description was read.
    #[serde(default)]
    pub requests: u64,
}

/// Something to look at.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SourceNote {
    pub text: String,
    /// What to do about it, where that is one thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// What a look at a source's description has found, by the names of its functions.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct RefreshedSource {
    pub source: String,
    /// How many it has now.
    pub functions: usize,
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
    /// Where its functions are called and its tokens fetched since then, and were not before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// What a user should look at since then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
