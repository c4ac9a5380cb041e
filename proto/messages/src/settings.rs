//! The settings that apply to an agent, and the problems of a configuration.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingsRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The current settings. Values are never secrets.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingsReport {
    /// The configuration file.
    pub file: PathBuf,
    pub settings: Vec<Setting>,
    /// The settings as a `config.toml`, each value with its origin as a comment. Entries with secrets are comments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Remarks, such as that the configuration has no section for the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The name as in the configuration file, such as `limits.wall`.
    pub name: String,
    pub value: Value,
    pub from: SettingSource,
    /// The line of the configuration file that sets it.
    pub line: Option<usize>,
    /// The file that sets it, if it is not the configuration file.
    pub file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SettingSource {
    Default,
    Config,
    /// The agent's section of the configuration file.
    Agent,
    Project,
}

/// Checks a configuration without applying it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckConfigRequest {
    pub text: String,
    /// The file's name, for messages.
    pub file: PathBuf,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigReport {
    pub problems: Vec<ConfigProblem>,
    /// The number of usable and of disabled entries.
    pub servers: usize,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigProblem {
    /// The line of the problem, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub message: String,
    /// The configuration may be right, but a host, path or tool that it names does not exist at the moment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
}
