//! `[check]`: how programs are type-checked, with overrides per agent.

use std::{collections::BTreeMap, path::PathBuf};

use mux_config::{AgentEntry, CheckEntry, CheckMode, ConfigProblem, EntryError};

/// The check mode of every agent, and the compiler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckModes {
    strictness: CheckMode,
    /// The agents that have their own mode.
    agents: BTreeMap<String, CheckMode>,
    /// The TypeScript compiler, if it is configured.
    pub compiler: Option<PathBuf>,
}

impl CheckModes {
    pub fn of(&self, agent: Option<&str>) -> CheckMode {
        agent
            .and_then(|agent| self.agents.get(agent))
            .copied()
            .unwrap_or(self.strictness)
    }

    /// Returns true if the programs of any agent are checked.
    pub fn any(&self) -> bool {
        std::iter::once(&self.strictness)
            .chain(self.agents.values())
            .any(|strictness| *strictness != CheckMode::Off)
    }

    pub(super) fn resolve(
        entry: &CheckEntry,
        agents: &BTreeMap<String, AgentEntry>,
        expand: impl Fn(&str) -> Result<String, EntryError>,
        problems: &mut Vec<ConfigProblem>,
    ) -> Self {
        let own = agents
            .iter()
            .filter_map(|(name, agent)| Some((name.clone(), agent.check?)));
        let mut checks = Self {
            strictness: entry.mode,
            agents: own.collect(),
            compiler: None,
        };
        match entry.tsc.as_deref().map(expand).transpose() {
            Ok(path) => checks.compiler = path.map(PathBuf::from),
            Err(problem) => {
                let message = format!("[check] tsc is ignored: {problem}");
                problems.push(ConfigProblem::at(&["check", "tsc"], message));
            }
        }
        checks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_overrides_check_mode() {
        let entry = CheckEntry {
            mode: CheckMode::Warn,
            tsc: Some("~/tsc".into()),
        };
        let agent = |check| AgentEntry {
            check,
            ..AgentEntry::default()
        };
        let agents = [
            ("a".to_owned(), agent(Some(CheckMode::Off))),
            ("b".into(), agent(None)),
        ];
        let mut problems = Vec::new();
        let home = |text: &str| Ok(text.replace('~', "/home/me"));
        let checks = CheckModes::resolve(&entry, &agents.into(), home, &mut problems);
        assert_eq!(checks.of(None), CheckMode::Warn);
        assert_eq!(checks.of(Some("a")), CheckMode::Off);
        assert_eq!(checks.of(Some("b")), CheckMode::Warn);
        assert_eq!(checks.compiler, Some("/home/me/tsc".into()));
        assert_eq!(problems, []);
        assert!(checks.any());
    }
}
