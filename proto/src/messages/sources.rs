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
    /// HTTP requests since its description was read.
    #[serde(default)]
    pub requests: u64,
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
}
