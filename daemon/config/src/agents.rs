//! `[agents.NAME]`, as the user wrote it.

use super::schema::{AGENT_KEYS, LIMITS_KEYS, RuleTable, globs, text};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::{Table, Value};

use super::{ConfigProblem, LimitsEntry, PolicyEntry, deserialize_entry, unknown_key_message};

/// `[agents.NAME]`: settings of one agent that replace the general ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentEntry {
    /// As `[check] mode`, for this agent's programs.
    pub check: Option<String>,
    /// Globs of paths that this agent never sees.
    pub exclude: Vec<String>,
    /// Globs of tool paths. They replace every server's `tools.direct`.
    pub direct: Option<Vec<String>>,
    /// Limits that replace those of `[limits]`.
    pub limits: LimitsEntry,
    /// The rules that replace `[[policy]]`.
    pub policy: Option<Vec<PolicyEntry>>,
    /// The profile by which output is adapted to this agent.
    pub profile: Option<String>,
}

/// `[agents.NAME]` as a table.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(super) struct AgentTable {
    /// As `check.mode`.
    #[schemars(schema_with = "text", extend("enum" = ["error", "warn", "off"], "x-default" = "`check.mode`"))]
    check: Option<String>,
    /// Paths that this agent does not see.
    #[schemars(schema_with = "globs")]
    exclude: Vec<String>,
    /// Paths that this agent gets as ordinary MCP tools.
    #[schemars(schema_with = "globs", extend("x-default" = "every server's `tools.direct`"))]
    direct: Option<Vec<String>>,
    /// `wall`, `cpu`, `calls`, `calls_at_once`, `argument`, `console`, `source`, `emitted`, `timers`. The other limits
    /// are the same for all agents.
    #[schemars(extend("x-default" = "`[limits]`"))]
    limits: LimitsEntry,
    /// Replaces all `[[policy]]` rules. A project's denials still apply.
    #[schemars(with = "Vec<RuleTable>", extend("x-type" = "list of rules", "x-default" = "`[[policy]]`"))]
    policy: Option<Value>,
    /// How `mux mcp` adapts its texts to this agent, instead of by the agent's program name.
    #[schemars(schema_with = "text", extend("enum" = ["careful", "whole", "claude-code", "codex", "gemini-cli", "opencode", "copilot-cli", "qwen-code"], "x-default" = "by the program's name"))]
    profile: Option<String>,
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
    /// Reads an entry. Adds a message to `problems` for each key that is ignored.
    pub(super) fn read(
        name: &str,
        value: Value,
        problems: &mut Vec<ConfigProblem>,
    ) -> Result<Self, String> {
        let what = format!("[agents.{name}]");
        let Value::Table(mut table) = value else {
            return Err(format!("{what} must be a table"));
        };
        let policy = table.remove("policy").map(PolicyEntry::read_rules);
        let unknown: Vec<String> = unknown_keys(&table, &AGENT_KEYS);
        for key in unknown {
            table.remove(&key);
            let message = unknown_key_message(&key, &AGENT_KEYS);
            let message = format!("{what} {message} is ignored");
            problems.push(ConfigProblem::at(&["agents", name, &key], message));
        }
        if let Some(Value::Table(limits)) = table.get_mut("limits") {
            for key in unknown_keys(limits, &AGENT_LIMIT_KEYS) {
                limits.remove(&key);
                let message = if LIMITS_KEYS.contains(&key) {
                    format!(
                        "{what} limits.{key} is ignored: it is the same for all agents, see [limits]"
                    )
                } else {
                    format!(
                        "{what} limits: {} is ignored",
                        unknown_key_message(&key, &AGENT_LIMIT_KEYS.map(str::to_owned))
                    )
                };
                let keys = ["agents", name, "limits", &key];
                problems.push(ConfigProblem::at(&keys, message));
            }
        }
        let written: AgentTable = deserialize_entry(Value::Table(table), &what)?;
        Ok(Self {
            check: written.check,
            exclude: written.exclude,
            direct: written.direct,
            limits: written.limits,
            policy,
            profile: written.profile,
        })
    }
}

fn unknown_keys(table: &Table, known: &[impl AsRef<str>]) -> Vec<String> {
    let keys = table.keys();
    let others = keys.filter(|key| !known.iter().any(|known| known.as_ref() == key.as_str()));
    others.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::Config;

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
        assert_eq!(config.agents["a"].limits.wall.as_deref(), Some("5s"));
        assert!(Config::parse("[agents.a]\nexclude = \"x\"\n", "c").is_err());
    }
}
