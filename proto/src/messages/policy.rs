//! The rules that are in force for an agent, and which of them decides a call.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyRequest {
    /// The agent whose rules to list; absent for a client without an agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The rules in the order of their evaluation.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyList {
    pub rules: Vec<PolicyRule>,
    /// Whether the agent has rules of its own in place of the general ones.
    pub own: bool,
    /// The number of calls since the daemon's start to which no rule applied.
    pub allowed_by_default: u64,
    /// The number of those calls whose tools declare themselves destructive.
    pub destructive_by_default: u64,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Why the rule is invalid, so that it denies.
    pub mistake: Option<String>,
    /// The agent to which the rule belongs, if it is not a general one.
    pub agent: Option<String>,
    /// The project to which the rule belongs, if any.
    pub project: Option<PathBuf>,
    /// Which text of that project's `.mux.toml` contains the rule.
    pub project_text: Option<ProjectText>,
    /// How often the rule has decided since the daemon's start.
    pub decided: u64,
}

/// Which text of a project's `.mux.toml`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProjectText {
    /// The present text, which is approved.
    Current,
    /// The text that was approved last. It has been replaced or deleted since.
    Approved,
    /// The present text, which is not approved.
    Unapproved,
}

#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    PartialEq,
    Serialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExplainPolicyRequest {
    pub path: String,
    /// An object.
    pub arguments: Option<Value>,
    /// The arguments as typed on a command line, as in [`crate::CallRequest`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<(String, String)>,
    pub agent: Option<String>,
    /// The client's name; that of the requesting client if absent.
    pub client: Option<String>,
    /// The directory in which the client works; that of the requesting client if absent.
    pub workspace: Option<PathBuf>,
    /// The text of a `config.toml` whose rules decide, in place of those in force. Feature `config_text`.
    pub config: Option<String>,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyExplanation {
    /// The path of the tool; canonical if the tool is known.
    pub path: String,
    pub known: bool,
    pub action: PolicyAction,
    /// The rule that decides; absent for the default.
    pub rule: Option<PolicyRule>,
    /// Whether an earlier rule applies with some arguments, and none were given.
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyStep {
    pub rule: PolicyRule,
    pub outcome: PolicyOutcome,
    /// The reason, as text.
    pub because: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
