//! The rules that are in force for somebody, and which of them decides a call.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PolicyRequest {
    /// Whose rules; absent for a client without an agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The rules in the order in which they are asked.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PolicyList {
    pub rules: Vec<PolicyRule>,
    /// Whether the agent has rules of its own in place of everybody's.
    pub own: bool,
    /// Calls that no rule was about, since the daemon's start.
    pub allowed_by_default: u64,
    /// Of those, the calls of tools that call themselves destructive.
    pub destructive_by_default: u64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PolicyRule {
    /// From 1, in its own list.
    pub number: usize,
    pub action: PolicyAction,
    /// Globs of paths.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// What else must hold, as it was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it denies whatever it was meant to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mistake: Option<String>,
    /// The agent whose own rule it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The project that denies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Which text of that project's `.mux.toml` it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_text: Option<ProjectText>,
    /// How often it has decided since the daemon's start.
    pub decided: u64,
}

/// Which text of a project's `.mux.toml`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectText {
    /// The one that is there, approved.
    Current,
    /// The one that was approved last. Another one is there now, or none.
    Approved,
    /// The one that is there, not approved.
    Unapproved,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyAction {
    Allow,
    Ask,
    Deny,
}

/// A call that somebody thinks of. Without arguments it is told what depends on them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ExplainPolicyRequest {
    pub path: String,
    /// An object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The same as somebody types them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the client calls itself; the one that asks, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Where it works; where the one that asks does, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PolicyExplanation {
    /// Canonical, if the tool is known.
    pub path: String,
    pub known: bool,
    pub action: PolicyAction,
    /// What decides; absent for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<PolicyRule>,
    /// A rule before it applies with some arguments, and none were told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub depends: bool,
    /// The rules that were looked at, in their order.
    pub steps: Vec<PolicyStep>,
    /// What the tool says of itself, by the names that rules have for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<(String, bool)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PolicyStep {
    pub rule: PolicyRule,
    pub outcome: PolicyOutcome,
    /// In words.
    pub because: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyOutcome {
    /// It applies, and no other is asked.
    Decides,
    /// It is about other paths or servers.
    Elsewhere,
    /// A condition is not met.
    Unmet,
    /// It applies with some arguments.
    Depends,
}
