//! The profiles of agents (`client/src/mcp/profiles.toml`): what `mux mcp` takes for granted about its client.

use std::fs;

use serde::Deserialize;
use serde_json::Value;

use crate::editors::source;

/// One profile. The file explains its keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub title: String,
    clients: Vec<String>,
    /// Absent for the profile of unknown agents.
    pub version: Option<String>,
    pub description_chars: Option<usize>,
    pub parameter_chars: Option<usize>,
    pub instructions_chars: Option<usize>,
    pub preview_chars: Option<usize>,
    /// `description` or `code`.
    pub inventory: String,
    #[serde(default)]
    pub shows: Shows,
    #[serde(default)]
    pub shows_errors: Shows,
    pub result_bytes: Option<usize>,
    pub result_lines: Option<usize>,
    pub list_seconds: Option<u64>,
    #[serde(default)]
    pub list_changed: bool,
    #[serde(default)]
    pub elicitation: Vec<String>,
    #[serde(default)]
    pub sampling: bool,
    pub tool_meta: Option<Value>,
}

/// The part of a result with both text and structured content that a model gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shows {
    #[default]
    Text,
    Structured,
    Both,
}

impl Profile {
    /// The profiles of real agents.
    pub fn all() -> Vec<Self> {
        let all = Self::all_known().into_iter();
        all.filter(|profile| profile.version.is_some()).collect()
    }

    /// All profiles, with that of an agent that is not known.
    pub fn all_known() -> Vec<Self> {
        #[derive(Deserialize)]
        struct File {
            profile: Vec<Profile>,
        }
        let path = source("client/src/mcp/profiles.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let file: File = toml::from_str(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        file.profile
    }

    #[track_caller]
    pub fn named(name: &str) -> Self {
        let found = Self::all().into_iter().find(|profile| profile.name == name);
        found.unwrap_or_else(|| panic!("there is no profile {name}"))
    }

    /// Returns true for the profile of a client with this name.
    pub fn is_of(&self, client: &str) -> bool {
        self.clients
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(start) => client.starts_with(start),
                None => client == pattern,
            })
    }
}
