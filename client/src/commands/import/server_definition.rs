//! A server entry of config.toml.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    agents::{AgentPaths, ConfigDocument, ConfigFileError},
    known_sandboxes::{ServerCommand, propose_sandbox},
};

/// The keys that identify a server. The others are the user's settings for it.
pub(in crate::commands) const SERVER_IDENTITY_KEYS: &[&str] =
    &["command", "args", "env", "cwd", "url", "headers"];

/// `[servers.NAME]`, with all strings in the syntax of config.toml: `${NAME}` is a variable, `$$` a
/// dollar sign.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::commands) struct ServerDefinition {
    pub(in crate::commands) command: Option<String>,
    pub(in crate::commands) args: Vec<String>,
    pub(in crate::commands) env: BTreeMap<String, String>,
    pub(in crate::commands) cwd: Option<String>,
    pub(in crate::commands) url: Option<String>,
    pub(in crate::commands) headers: BTreeMap<String, String>,
    /// Tools that are not offered.
    pub(in crate::commands) exclude: Vec<String>,
    pub(in crate::commands) disabled: bool,
    pub(in crate::commands) start_timeout: Option<String>,
    pub(in crate::commands) call_timeout: Option<String>,
}

impl ServerDefinition {
    /// The entry as written, without default values.
    pub(in crate::commands) fn to_entry(&self) -> Map<String, Value> {
        let defaults = [
            json!(null),
            json!([]),
            json!({}),
            json!({ "exclude": [] }),
            json!(true),
        ];
        let all = [
            ("command", json!(self.command)),
            ("args", json!(self.args)),
            ("env", json!(self.env)),
            ("cwd", json!(self.cwd)),
            ("url", json!(self.url)),
            ("headers", json!(self.headers)),
            ("tools", json!({ "exclude": self.exclude })),
            ("start_timeout", json!(self.start_timeout)),
            ("call_timeout", json!(self.call_timeout)),
            ("enabled", json!(!self.disabled)),
        ];
        let all = all.into_iter();
        let written = all.filter(|(_, value)| !defaults.contains(value));
        written
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }

    /// A sandbox that fits the server, if it is a well-known one.
    pub(in crate::commands) fn proposed_sandbox(
        &self,
        places: &AgentPaths,
    ) -> Option<Map<String, Value>> {
        let server = ServerCommand {
            command: self.command.as_deref()?,
            args: &self.args,
            env: &self.env,
        };
        propose_sandbox(server, places)
    }
}

/// Returns true if `ours` is the same server as `entry`, regardless of its other settings.
pub(in crate::commands) fn is_same_definition(ours: &Value, entry: &Map<String, Value>) -> bool {
    SERVER_IDENTITY_KEYS
        .iter()
        .all(|key| ours.get(key) == entry.get(*key))
}

/// Writes `entry` over the existing entry. Removes the `keys` that `entry` does not have.
pub(in crate::commands) fn overwrite_entry(
    config: &ConfigDocument,
    section: &[&str],
    name: &str,
    entry: &Map<String, Value>,
    keys: &[&str],
) -> Result<ConfigDocument, ConfigFileError> {
    let path = [section, &[name]].concat();
    let mut edited = config.clone();
    for (key, value) in config.section_entries(&path) {
        let stale = !entry.contains_key(key) || value.is_object();
        if keys.contains(&key) && stale {
            edited = edited.without_server_entry(&path, key)?;
        }
    }
    edited.with_server_entry(section, name, &Value::Object(entry.clone()))
}
