//! The rules that apply to an agent, and the rule that decides a call.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyRequest {
    /// The agent whose rules to list. Absent for a client without an agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The rules in the order of their evaluation.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyList {
    pub rules: Vec<PolicyRule>,
    /// True if the agent has its own rules instead of the general ones.
    pub own: bool,
    /// The number of calls since the daemon's start to which no rule applied.
    pub allowed_by_default: u64,
    /// The number of these calls whose tools declare themselves destructive.
    pub destructive_by_default: u64,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyRule {
    /// The rule's number in its own list, from 1.
    pub number: usize,
    pub action: PolicyAction,
    /// Globs of paths.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// The other conditions, as they were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    pub reason: Option<String>,
    /// Why the rule is invalid. An invalid rule denies.
    pub mistake: Option<String>,
    /// The agent to which the rule belongs, if it is not a general one.
    pub agent: Option<String>,
    /// The project to which the rule belongs, if any.
    pub project: Option<PathBuf>,
    /// The version of that project's `.mux.toml` that contains the rule.
    pub project_text: Option<ProjectText>,
    /// How often the rule has decided since the daemon's start.
    pub decided: u64,
}

/// A version of a project's `.mux.toml`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProjectText {
    /// The current version, which is approved.
    Current,
    /// The version that was approved last. The file has since been changed or deleted.
    Approved,
    /// The current version, which is not approved.
    Unapproved,
}

/// The decision of a rule on a call, from the most lenient to the strictest.
#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PolicyAction {
    Allow,
    Ask,
    Deny,
}

impl PolicyAction {
    /// The word as in the configuration.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A hypothetical call. Without arguments, the answer says which rules depend on them.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainPolicyRequest {
    pub path: String,
    /// An object.
    pub arguments: Option<Value>,
    /// The arguments as typed on a command line, as in [`crate::CallRequest`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<(String, String)>,
    pub agent: Option<String>,
    /// The client's name. Defaults to the requesting client's.
    pub client: Option<String>,
    /// The directory in which the client works. Defaults to the requesting client's.
    pub workspace: Option<PathBuf>,
    /// The content of a `config.toml` whose rules decide instead of the current rules.
    pub config: Option<String>,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyExplanation {
    /// The path of the tool, canonical if the tool is known.
    pub path: String,
    pub known: bool,
    pub action: PolicyAction,
    /// The rule that decides. Absent if the default decides.
    pub rule: Option<PolicyRule>,
    /// True if an earlier rule applies with some arguments, and no arguments were given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub depends: bool,
    /// The evaluated rules, in their order.
    pub steps: Vec<PolicyStep>,
    /// The tool's annotations, by the names that rules use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<(String, bool)>,
    pub verb: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyStep {
    pub rule: PolicyRule,
    pub outcome: PolicyOutcome,
    /// The reason, in words.
    pub because: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PolicyOutcome {
    /// The rule applies, and no further rule is evaluated.
    Decides,
    /// The rule concerns other paths or servers.
    Elsewhere,
    /// A condition of the rule is not met.
    Unmet,
    /// The rule applies with some arguments.
    Depends,
}
