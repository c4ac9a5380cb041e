//! The entry for `mux mcp` in an agent's file, in the format of each agent.

use std::path::Path;

use serde_json::Value;

use super::{Agent, ConfigFormat};

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
        let mut words = command_words(entry);
        if words.get(1)? != "mcp" {
            return None;
        }
        let args = words.split_off(1);
        let env = ["env", "environment", "envs"];
        let env = env.iter().find_map(|key| entry[key].as_object());
        let env = env.into_iter().flatten();
        Some(Self {
            command: words.pop()?,
            args,
            env: env
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
        })
    }

    /// Returns true if the entry starts `mux`, judged by the name of the entry or the program's file
    /// name.
    pub(crate) fn starts_mux(&self, entry: &str) -> bool {
        entry == "mux" || is_mux_program(&self.command)
    }

    /// The entry as the agent documents it. `section` and `name` say where it will be written.
    pub(crate) fn to_agent_entry(&self, agent: Agent, section: &[&str], name: &str) -> Value {
        let spec = agent.spec();
        let mut entry = (spec.entry)(self, name);
        if section != spec.section
            && let Some(keys) = entry.as_object_mut()
        {
            // Only the older version of opencode's file has this key.
            keys.remove("enabled");
        }
        if !self.env.is_empty() {
            entry[spec.env_key] = self
                .env
                .iter()
                .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
                .collect();
        }
        entry
    }

    /// The snippet for the user to insert by hand, if the file cannot be edited.
    pub(crate) fn manual_text(&self, agent: Agent, section: &[&str], name: &str) -> String {
        let entry = self.to_agent_entry(agent, section, name);
        let text = match agent.format() {
            ConfigFormat::Toml => super::toml::put_toml_entry("", section, name, &entry),
            ConfigFormat::Yaml => super::yaml::put_yaml_entry("", section, name, &entry),
            ConfigFormat::Json => {
                let path = [section, &[name]].concat();
                Ok(super::config_document::nested_value(&path, &entry).to_string())
            }
        };
        text.unwrap_or_default().trim_end().to_owned()
    }
}

/// The program of an entry and its arguments, in the format of any agent. Empty for a server with a URL.
pub(crate) fn command_words(entry: &Value) -> Vec<String> {
    // Cline's newer format has the rest of the entry in `transport`.
    let transport = entry.get("transport").filter(|inner| inner.is_object());
    let entry = transport.unwrap_or(entry);
    let command = &entry["command"];
    // Zed's older format has an object as the command.
    let parts = [
        command,
        &command["path"],
        &command["args"],
        &entry["cmd"],
        &entry["args"],
    ];
    let words = parts.into_iter().flat_map(|part| match part {
        Value::Array(words) => words.as_slice(),
        one => std::slice::from_ref(one),
    });
    words
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect()
}

/// Returns true if a command's file name is `mux` or `mux.exe`, in any directory.
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
