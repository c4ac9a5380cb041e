//! The settings that are in force for somebody, and what is wrong with a file of them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SettingsRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// What is in force. No value of it is a secret.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SettingsReport {
    /// The configuration file.
    pub file: PathBuf,
    pub settings: Vec<Setting>,
    /// What should be known, such as that nothing is said of the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Setting {
    /// As it would be written, such as `limits.wall`.
    pub name: String,
    pub value: Value,
    pub from: SettingSource,
    /// Of the configuration file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The file, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingSource {
    Default,
    Config,
    /// What the file says of this agent alone.
    Agent,
    Project,
}

/// Looks at a configuration without putting it in force.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CheckConfigRequest {
    pub text: String,
    /// Its name, for what is told.
    pub file: PathBuf,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ConfigReport {
    pub problems: Vec<ConfigProblem>,
    /// The entries that can be used, and those that are switched off.
    pub servers: usize,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ConfigProblem {
    /// Where it stands, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub message: String,
}
