//! `[check]`: how programs are type-checked, with overrides per agent.

use std::{collections::BTreeMap, path::PathBuf};

use mux_config::{AgentEntry, CheckEntry, ConfigProblem, EntryError};

use super::server::parse_or_ignore;

/// The treatment of programs with type errors.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Eq,
    PartialEq,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum CheckMode {
    /// The program does not run.
    #[default]
    Error,
    /// The program runs, and the errors are reported as warnings.
    Warn,
    /// Types are not checked.
    Off,
}

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
        let mut checks = Self {
            strictness: parse_or_ignore(
                entry.mode.as_deref(),
                "[check] mode",
                &["check", "mode"],
                problems,
            )
            .unwrap_or_default(),
            ..Self::default()
        };
        for (name, agent) in agents {
            let what = format!("[agents.{name}] check");
            if let Some(own) = parse_or_ignore(
                agent.check.as_deref(),
                &what,
                &["agents", name, "check"],
                problems,
            ) {
                checks.agents.insert(name.clone(), own);
            }
        }
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
            mode: Some("warn".into()),
            tsc: Some("~/tsc".into()),
        };
        let agent = |word: &str| AgentEntry {
            check: Some(word.into()),
            ..AgentEntry::default()
        };
        let agents = [("a".to_owned(), agent("off")), ("b".into(), agent("no"))].into();
        let mut problems = Vec::new();
        let home = |text: &str| Ok(text.replace('~', "/home/me"));
        let checks = CheckModes::resolve(&entry, &agents, home, &mut problems);
        assert_eq!(checks.of(None), CheckMode::Warn);
        assert_eq!(checks.of(Some("a")), CheckMode::Off);
        assert_eq!(checks.of(Some("b")), CheckMode::Warn);
        assert_eq!(checks.compiler, Some("/home/me/tsc".into()));
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].message.contains("[agents.b] check"),
            "{problems:?}"
        );
        assert!(checks.any());
    }
}
