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
        let mut entry = Map::new();
        let texts = |texts: &BTreeMap<String, String>| {
            let pairs = texts.iter();
            Value::Object(pairs.map(|(k, v)| (k.clone(), v.as_str().into())).collect())
        };
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                entry.insert(key.into(), value);
            }
        };
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        set("command", text(&self.command));
        set("args", (!self.args.is_empty()).then(|| json!(self.args)));
        set("env", (!self.env.is_empty()).then(|| texts(&self.env)));
        set("cwd", text(&self.cwd));
        set("url", text(&self.url));
        set(
            "headers",
            (!self.headers.is_empty()).then(|| texts(&self.headers)),
        );
        set(
            "tools",
            (!self.exclude.is_empty()).then(|| json!({ "exclude": self.exclude })),
        );
        set("start_timeout", text(&self.start_timeout));
        set("call_timeout", text(&self.call_timeout));
        set("enabled", self.disabled.then_some(Value::Bool(false)));
        entry
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
