//! The entry for `mux mcp` in an agent's file, in the format of each agent.

use std::path::Path;

use serde_json::{Value, json};

use super::Agent;

/// The command with which an agent starts `mux mcp`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MuxEntry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl MuxEntry {
    /// Parses an entry. `None` unless its first argument is `mcp`.
    pub(crate) fn parse_mcp_entry(entry: &Value) -> Option<Self> {
        let command = &entry["command"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut words: Vec<String> = match command {
            Value::Array(words) => words.iter().filter_map(text).collect(),
            // Zed's older format.
            Value::Object(_) => std::iter::once(text(&command["path"])?)
                .chain(
                    command["args"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(text),
                )
                .collect(),
            one => vec![text(one)?],
        };
        words.extend(
            entry["args"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(text),
        );
        let command = words.first()?.clone();
        let args = words.split_off(1);
        if args.first()? != "mcp" {
            return None;
        }
        let env = entry.get("env").or_else(|| entry.get("environment"));
        let env = env.and_then(Value::as_object).into_iter().flatten();
        Some(Self {
            command,
            args,
            env: env
                .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
                .collect(),
        })
    }

    /// Whether the entry starts `mux`: by the name of the entry, or by the program's file name.
    pub(crate) fn starts_mux(&self, entry: &str) -> bool {
        entry == "mux" || is_mux_program(&self.command)
    }

    /// The entry as the agent documents it; `section` is where it will be written.
    pub(crate) fn to_agent_entry(&self, agent: Agent, section: &[&str]) -> Value {
        let (command, args) = (&self.command, &self.args);
        let mut entry = match agent {
            Agent::Claude | Agent::Vscode => {
                json!({ "type": "stdio", "command": command, "args": args })
            }
            Agent::ClaudeDesktop | Agent::Cursor | Agent::Windsurf | Agent::Codex | Agent::Zed => {
                json!({ "command": command, "args": args })
            }
            Agent::Opencode => {
                let words: Vec<&String> = std::iter::once(command).chain(args).collect();
                let mut entry = json!({ "type": "local", "command": words });
                if section.len() == 1 {
                    entry["enabled"] = true.into();
                }
                entry
            }
        };
        if !self.env.is_empty() {
            let key = match agent {
                Agent::Opencode => "environment",
                _ => "env",
            };
            entry[key] = self
                .env
                .iter()
                .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
                .collect();
        }
        entry
    }

    /// The text for the user to insert by hand, if the file cannot be edited.
    pub(crate) fn manual_text(&self, agent: Agent, section: &[&str], name: &str) -> String {
        let entry = self.to_agent_entry(agent, section);
        if agent == Agent::Codex {
            let text = super::toml::put_toml_entry("", section, name, &entry).unwrap_or_default();
            return text.trim_end().to_owned();
        }
        let mut whole = json!({ name: entry });
        for key in section.iter().rev() {
            whole = json!({ *key: whole });
        }
        whole.to_string()
    }
}

/// Whether a command's file name is `mux` or `mux.exe`, in any directory.
fn is_mux_program(command: &str) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    Path::new(name)
        .file_stem()
        .is_some_and(|stem| stem == "mux")
        && matches!(
            Path::new(name).extension().and_then(|e| e.to_str()),
            None | Some("exe")
        )
}
