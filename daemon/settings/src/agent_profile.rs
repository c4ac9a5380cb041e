//! The profile by which `mux mcp` adapts its output to an agent: `profile` of `[agents.NAME]`.
//!
//! The names are those of `client/src/mcp/profiles.toml`, which defines the profiles. A test compares them.

use std::collections::BTreeMap;

use mux_config::{AgentEntry, ConfigProblem};

use super::server::parse_or_ignore;

#[derive(
    Clone, Copy, Debug, Eq, PartialEq, strum::EnumString, strum::IntoStaticStr, strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum AgentProfile {
    Careful,
    Whole,
    ClaudeCode,
    Codex,
    GeminiCli,
    Opencode,
    CopilotCli,
    QwenCode,
}

/// The profiles of the agents that have one in their entry.
pub type AgentProfiles = BTreeMap<String, AgentProfile>;

pub(super) fn resolve(
    agents: &BTreeMap<String, AgentEntry>,
    problems: &mut Vec<ConfigProblem>,
) -> AgentProfiles {
    let mut profiles = AgentProfiles::new();
    for (name, agent) in agents {
        let what = format!("[agents.{name}] profile");
        let keys = ["agents", name, "profile"];
        if let Some(profile) = parse_or_ignore(agent.profile.as_deref(), &what, &keys, problems) {
            profiles.insert(name.clone(), profile);
        }
    }
    profiles
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_config::Config;

    #[test]
    fn unknown_profile_is_reported_at_its_line_and_ignored() {
        let text =
            "[agents.a]\nprofile = \"claude-code\"\n[agents.b]\nprofile = \"claud\"\n[agents.c]\n";
        let config = Config::parse(text, "c").unwrap();
        let mut problems = Vec::new();
        let profiles = resolve(&config.agents, &mut problems);
        assert_eq!(
            profiles,
            [("a".to_owned(), AgentProfile::ClaudeCode)].into()
        );
        assert_eq!(problems.len(), 1, "{problems:?}");
        let message = &problems[0].message;
        assert!(
            message.contains(
                "[agents.b] profile = \"claud\" is ignored: expected one of careful, whole, claude-code"
            ),
            "{message}"
        );
        assert_eq!(config.lines.at(&["agents", "b", "profile"]), Some(4));
    }
}
