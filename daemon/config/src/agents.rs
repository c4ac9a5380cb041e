//! `[agents.NAME]`, as the user wrote it.

use std::collections::BTreeMap;

use super::schema::{AGENT_KEYS, LIMITS_KEYS, RuleTable, globs};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use super::{
    AgentProfile, CheckMode, ConfigProblem, LimitsEntry, PolicyEntry,
    sections::{deserialize_section, replace_wrong_values},
    unknown_key_message,
};

/// `[agents.NAME]`: settings of one agent that replace the general ones.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct AgentEntry {
    /// As `check.mode`.
    #[schemars(extend("x-default" = "`check.mode`"))]
    pub check: Option<CheckMode>,
    /// Paths that this agent does not see.
    #[schemars(schema_with = "globs")]
    pub exclude: Vec<String>,
    /// Paths that this agent gets as ordinary MCP tools.
    #[schemars(schema_with = "globs", extend("x-default" = "every server's `tools.direct`"))]
    pub direct: Option<Vec<String>>,
    // After reading, limits that the agent does not set have been filled in from `[limits]`.
    /// `wall`, `cpu`, `calls`, `calls_at_once`, `argument`, `console`, `source`, `emitted`, `timers`. The other limits
    /// are the same for all agents.
    #[schemars(extend("x-default" = "`[limits]`"))]
    pub limits: Option<LimitsEntry>,
    /// Replaces all `[[policy]]` rules. A project's denials still apply.
    #[serde(deserialize_with = "rules")]
    #[schemars(with = "Vec<RuleTable>", extend("x-type" = "list of rules", "x-default" = "`[[policy]]`"))]
    pub policy: Option<Vec<PolicyEntry>>,
    /// `false` keeps inputs, arguments, results and output of this agent's runs out of the [history](#history).
    #[schemars(extend("default" = true))]
    pub history: Option<bool>,
    /// How `mux mcp` adapts its texts to this agent, instead of by the agent's program name.
    #[schemars(extend("x-default" = "by the program's name"))]
    pub profile: Option<AgentProfile>,
}

fn rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<PolicyEntry>>, D::Error> {
    Value::deserialize(deserializer).map(|rules| Some(PolicyEntry::read_rules(rules)))
}

/// The limits of each run. All agents share the others.
const AGENT_LIMIT_KEYS: [&str; 9] = [
    "wall",
    "cpu",
    "calls",
    "calls_at_once",
    "argument",
    "console",
    "source",
    "emitted",
    "timers",
];

impl AgentEntry {
    /// Reads all entries. Adds a message to `problems` for each key that is ignored. `general_limits` is `[limits]`.
    pub(super) fn read_all(
        entries: Option<Value>,
        general_limits: &Value,
        problems: &mut Vec<ConfigProblem>,
    ) -> Result<BTreeMap<String, Self>, String> {
        let entries = match entries {
            Some(Value::Table(entries)) => entries,
            Some(_) => return Err("`agents` must be tables: [agents.NAME]".into()),
            None => Table::new(),
        };
        let entries = entries.into_iter();
        entries
            .map(|(name, value)| {
                let agent = Self::read(&name, value, general_limits, problems)?;
                Ok((name, agent))
            })
            .collect()
    }

    fn read(
        name: &str,
        value: Value,
        general_limits: &Value,
        problems: &mut Vec<ConfigProblem>,
    ) -> Result<Self, String> {
        let what = format!("[agents.{name}]");
        let Value::Table(mut table) = value else {
            return Err(format!("{what} must be a table"));
        };
        for key in unknown_keys(&table, &AGENT_KEYS) {
            table.remove(&key);
            let message = unknown_key_message(&key, &AGENT_KEYS);
            let message = format!("{what} {message} is ignored");
            problems.push(ConfigProblem::at(&["agents", name, &key], message));
        }
        if let Some(Value::Table(limits)) = table.get_mut("limits") {
            remove_unusable_limits(limits, name, problems);
            for (key, value) in general_limits.as_table().into_iter().flatten() {
                limits.entry(key).or_insert_with(|| value.clone());
            }
        }
        replace_wrong_values::<Self>(&mut table, &["agents", name], problems);
        deserialize_section(Value::Table(table), &what)
    }
}

fn remove_unusable_limits(limits: &mut Table, agent: &str, problems: &mut Vec<ConfigProblem>) {
    let what = format!("[agents.{agent}] limits");
    for key in unknown_keys(limits, &AGENT_LIMIT_KEYS) {
        limits.remove(&key);
        let message = if LIMITS_KEYS.contains(&key) {
            format!("{what}.{key} is ignored: it is the same for all agents, see [limits]")
        } else {
            let known = AGENT_LIMIT_KEYS.map(str::to_owned);
            format!("{what}: {} is ignored", unknown_key_message(&key, &known))
        };
        let keys = ["agents", agent, "limits", &key];
        problems.push(ConfigProblem::at(&keys, message));
    }
    replace_wrong_values::<LimitsEntry>(limits, &["agents", agent, "limits"], problems);
}

fn unknown_keys(table: &Table, known: &[impl AsRef<str>]) -> Vec<String> {
    let keys = table.keys();
    let others = keys.filter(|key| !known.iter().any(|known| known.as_ref() == key.as_str()));
    others.cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{AgentProfile, Config};

    #[test]
    fn unknown_profile_is_reported_at_its_line_and_ignored() {
        let text =
            "[agents.a]\nprofile = \"claude-code\"\n[agents.b]\nprofile = \"claud\"\n[agents.c]\n";
        let config = Config::parse(text, "c").unwrap();
        let profile = |name: &str| config.agents[name].profile;
        assert_eq!(profile("a"), Some(AgentProfile::ClaudeCode));
        assert_eq!(profile("b"), None);
        assert_eq!(config.problems.len(), 1, "{:?}", config.problems);
        let message = &config.problems[0].message;
        let expected = "[agents.b] profile = \"claud\" is none of careful, whole, claude-code";
        assert!(message.contains(expected), "{message}");
        assert_eq!(config.lines.at(&["agents", "b", "profile"]), Some(4));
    }

    #[test]
    fn unknown_and_shared_keys_of_an_agent_are_reported_and_ignored() {
        let config = Config::parse(
            "[agents.a]\nexlude = [\"x\"]\nlimits = { wall = \"5s\", heap = \"1GiB\", walll = 1 }\n",
            "c",
        )
        .unwrap();
        let problems: Vec<String> = config.problems.iter().map(ToString::to_string).collect();
        let problems = problems.join("\n");
        for part in [
            "[agents.a] unknown key `exlude` (did you mean `exclude`?)",
            "limits.heap is ignored: it is the same for all agents",
            "unknown key `walll` (did you mean `wall`?)",
        ] {
            assert!(problems.contains(part), "{part}: {problems}");
        }
        let limits = config.agents["a"].limits.as_ref().unwrap();
        assert_eq!(limits.wall.0, Duration::from_secs(5));
        assert!(Config::parse("[agents.a]\nexclude = \"x\"\n", "c").is_err());
    }
}
