//! Profiles: how agents treat the output of an MCP server. `profiles.toml` is the table.
//!
//! Invariant: a client that lies about its name gets the output for another profile, but every tool still works.

use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use rmcp::model::JsonObject;
use serde::Deserialize;
use wildmatch::WildMatch;

use crate::agents::{ConfigDocument, ConfigFormat};

const TABLE: &str = include_str!("profiles.toml");
/// The name of the profile for agents that are not known.
const CAREFUL: &str = "careful";

static PROFILES: LazyLock<Vec<AgentProfile>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct ProfileTable {
        profile: Vec<AgentProfile>,
    }
    let document = ConfigDocument::parse(TABLE.as_bytes(), ConfigFormat::Toml);
    let values = document.map(|document| document.values().clone());
    let table = serde_json::from_value::<ProfileTable>(values.unwrap_or_default());
    // The table is part of the program, and a test parses it.
    table.map(|table| table.profile).unwrap_or_default()
});

/// How one agent treats the output of a server. Lengths are UTF-16 code units, as JavaScript counts them. The table
/// has further keys, which describe the agent and are compared with its program by `scripts/agents`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct AgentProfile {
    pub(crate) name: String,
    pub(crate) title: String,
    /// Globs of `clientInfo.name`, without regard to case.
    clients: Vec<String>,
    /// The version of the program in which all values were seen.
    pub(crate) version: Option<String>,
    /// How much of a tool's description is passed on. All of it if absent.
    pub(crate) description_chars: Option<usize>,
    /// How much of a description the model sees before it loads the tool. If absent, tools are not hidden.
    pub(crate) preview_chars: Option<usize>,
    /// How much of a parameter's description is passed on. All of it if absent.
    pub(crate) parameter_chars: Option<usize>,
    /// How much of the instructions is passed on. Nothing if 0, all of it if absent.
    pub(crate) instructions_chars: Option<usize>,
    /// Where a long text arrives whole.
    pub(crate) inventory: InventoryPlace,
    /// The longest text of a result, in bytes, that is passed on unchanged.
    pub(crate) result_bytes: usize,
    /// The same in lines. Absent: any number.
    pub(crate) result_lines: Option<usize>,
    /// Whether the agent requests a list again when it has changed.
    pub(crate) list_changed: Option<bool>,
    /// `_meta` of our own tools.
    #[serde(default)]
    pub(crate) tool_meta: JsonObject,
}

/// Where the signatures of all tools are placed.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InventoryPlace {
    /// In the description of `run`.
    #[default]
    Description,
    /// In the description of its parameter `code`.
    Code,
}

impl AgentProfile {
    pub(crate) fn all() -> &'static [Self] {
        &PROFILES
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The profile of the agent whose program has this name.
    pub(crate) fn recognize(client: &str) -> &'static Self {
        let client = client.to_ascii_lowercase();
        let has_name = |glob: &String| WildMatch::new(glob).matches(&client);
        let known = PROFILES
            .iter()
            .find(|profile| profile.clients.iter().any(has_name));
        known.unwrap_or_else(Self::careful)
    }

    /// The limitations of the agent, as the ends of a sentence.
    pub(crate) fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        if let Some(chars) = self.description_chars {
            limits.push(format!("shows {chars} characters of a description"));
        }
        match self.instructions_chars {
            Some(0) => limits.push("does not pass on instructions".into()),
            Some(chars) => limits.push(format!("shows {chars} characters of the instructions")),
            None => {}
        }
        limits.push(format!(
            "accepts results of up to {} bytes",
            self.result_bytes
        ));
        if self.list_changed == Some(false) {
            limits.push("does not notice new tools until it is restarted".into());
        }
        limits
    }

    fn careful() -> &'static Self {
        static NONE: LazyLock<AgentProfile> = LazyLock::new(AgentProfile::default);
        Self::find(CAREFUL).unwrap_or(&NONE)
    }
}

/// The profile of this session's agent: that of the command line, else of the configuration, else of its name.
#[derive(Clone, Default)]
pub(super) struct SessionProfile(Arc<Mutex<ProfileSources>>);

#[derive(Default)]
struct ProfileSources {
    command_line: Option<&'static AgentProfile>,
    configured: Option<&'static AgentProfile>,
    recognized: Option<&'static AgentProfile>,
}

impl SessionProfile {
    pub(super) fn new(command_line: Option<&'static AgentProfile>) -> Self {
        let sources = ProfileSources {
            command_line,
            ..ProfileSources::default()
        };
        Self(Arc::new(Mutex::new(sources)))
    }

    /// Records the name of the agent's program.
    pub(super) fn set_client(&self, client: &str) {
        self.0.lock().recognized = Some(AgentProfile::recognize(client));
    }

    /// Records the profile that the configuration names. Returns whether that changes the session's profile.
    pub(super) fn set_configured(&self, name: Option<&str>) -> bool {
        let before = self.get();
        self.0.lock().configured = name.and_then(AgentProfile::find);
        self.get().name != before.name
    }

    pub(super) fn get(&self) -> &'static AgentProfile {
        let sources = self.0.lock();
        let named = sources.command_line.or(sources.configured);
        let profile = named.or(sources.recognized);
        profile.unwrap_or_else(AgentProfile::careful)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_complete_and_found_by_its_clients() {
        assert_eq!(AgentProfile::all().len(), 8, "the table does not parse");
        for profile in AgentProfile::all() {
            assert_eq!(
                AgentProfile::find(&profile.name).unwrap().title,
                profile.title
            );
            assert!(profile.result_bytes >= 4_000, "{}", profile.name);
            assert_eq!(profile.version.is_none(), profile.clients.is_empty());
            for client in &profile.clients {
                let name = client.replace('*', "-x").to_uppercase();
                assert_eq!(AgentProfile::recognize(&name).name, profile.name);
            }
        }
        assert_eq!(AgentProfile::recognize("somebody").name, CAREFUL);
        assert_eq!(AgentProfile::recognize("my claude-code").name, CAREFUL);
    }

    #[test]
    fn command_line_precedes_configuration_and_name() {
        let profile = SessionProfile::new(None);
        assert_eq!(profile.get().name, CAREFUL);
        profile.set_client("opencode");
        assert_eq!(profile.get().name, "opencode");
        assert!(profile.set_configured(Some("codex")));
        assert!(!profile.set_configured(Some("codex")));
        assert_eq!(profile.get().name, "codex");
        assert!(profile.set_configured(None));
        let profile = SessionProfile::new(AgentProfile::find("gemini-cli"));
        profile.set_client("opencode");
        assert!(!profile.set_configured(Some("codex")));
        assert_eq!(profile.get().name, "gemini-cli");
    }
}
