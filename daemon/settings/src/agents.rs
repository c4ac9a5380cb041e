//! `[agents.NAME]`: the tools that an agent sees, and the tools that are offered to it directly.
//!
//! Invariant: an agent's setting replaces the general one and is never merged with it. An agent that is not configured
//! has the general settings.

use std::collections::BTreeMap;

use mux_config::{AgentEntry, ServerEntry, SourceEntry, ToolsEntry};

/// The views of all agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentViews {
    everybody: AgentView,
    /// The agents that have their own view.
    agents: BTreeMap<String, AgentView>,
}

/// The tools that one agent sees, as globs of canonical paths.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentView {
    pub exclude: Vec<String>,
    pub direct: Vec<String>,
}

impl AgentViews {
    pub(super) fn resolve(
        agents: &BTreeMap<String, AgentEntry>,
        servers: &BTreeMap<String, Result<ServerEntry, String>>,
        sources: &BTreeMap<String, Result<SourceEntry, String>>,
    ) -> Self {
        let of_servers = servers.iter();
        let of_servers = of_servers
            .filter_map(|(name, entry)| Some((name.as_str(), &entry.as_ref().ok()?.tools)));
        let of_sources = sources.iter();
        let of_sources = of_sources
            .filter_map(|(name, entry)| Some((name.as_str(), &entry.as_ref().ok()?.tools)));
        // A server name has no glob characters.
        let direct = of_servers
            .chain(of_sources)
            .map(|(name, tools): (&str, &ToolsEntry)| {
                let patterns = tools.direct.iter();
                patterns.map(move |glob| format!("{name}.{glob}"))
            });
        let everybody = AgentView {
            exclude: Vec::new(),
            direct: direct.flatten().collect(),
        };
        let own = agents
            .iter()
            .filter(|(_, agent)| !agent.exclude.is_empty() || agent.direct.is_some())
            .map(|(name, agent)| {
                let direct = agent.direct.as_ref().unwrap_or(&everybody.direct);
                let view = AgentView {
                    exclude: agent.exclude.clone(),
                    direct: direct.clone(),
                };
                (name.clone(), view)
            });
        Self {
            agents: own.collect(),
            everybody,
        }
    }

    pub fn everybody(&self) -> &AgentView {
        &self.everybody
    }

    /// The view of an agent: its own, or the general one.
    pub fn of(&self, agent: Option<&str>) -> &AgentView {
        let own = agent.and_then(|agent| self.agents.get(agent));
        own.unwrap_or(&self.everybody)
    }

    pub fn configured_agents(&self) -> impl Iterator<Item = (&str, &AgentView)> {
        self.agents.iter().map(|(name, view)| (name.as_str(), view))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_config::Config;

    #[test]
    fn agent_settings_replace_general_ones() {
        let config = Config::parse(
            "[servers.files]\ncommand = \"x\"\ntools = { direct = [\"show_*\"] }\n[servers.b]\ncommand = \"y\"\n\
             [agents.small]\nexclude = [\"b.*\"]\n[agents.big]\ndirect = [\"b.read\"]\n[agents.none]\ndirect = []\n\
             [agents.plain]\ncheck = \"off\"\nlimits = {}\nlimit = 1\n",
            "c",
        )
        .unwrap();
        assert_eq!(config.problems.len(), 1, "{:?}", config.problems);
        assert!(
            config.problems[0]
                .message
                .contains("[agents.plain] unknown key `limit`")
        );
        let agents = AgentViews::resolve(&config.agents, &config.servers, &config.sources);
        let of = |name: &str| {
            let own = agents.configured_agents().find(|(own, _)| *own == name);
            own.map_or(agents.everybody(), |(_, view)| view)
        };
        assert_eq!(of("nobody").direct, ["files.show_*"]);
        assert_eq!(of("plain"), agents.everybody());
        assert_eq!(of("small").direct, ["files.show_*"]);
        assert_eq!(of("small").exclude, ["b.*"]);
        assert_eq!(of("big").direct, ["b.read"]);
        assert!(of("big").exclude.is_empty());
        assert!(of("none").direct.is_empty());
    }
}
