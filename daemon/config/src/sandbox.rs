//! `[sandbox]` and `sandbox = { … }` of a server, as the user wrote them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use toml::Value;

use super::{
    SizeEntry, deserialize_entry,
    schema::{SANDBOX_KEYS, size, text},
    unknown_key_message,
};

/// `[sandbox]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxDefaultsEntry {
    /// For servers whose entry has no `sandbox`: `enforce` starts them in a sandbox that grants only what every program
    /// needs. `warn` starts them without a sandbox, and `mux doctor` lists them. `off` starts them without a sandbox.
    #[schemars(schema_with = "text", extend("enum" = ["enforce", "warn", "off"], "default" = "warn"))]
    pub mode: Option<String>,
}

/// `sandbox = { … }` of a server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SandboxEntry {
    /// Files and directories that the server may read, in addition to its own program and the system's files. A
    /// relative path starts at your home.
    pub read: Vec<String>,
    /// Files and directories that the server may read and change.
    pub write: Vec<String>,
    /// Hosts that the server may reach: none, any, or a list of `host` and `host:port`, where `*.example.com` means
    /// every host below that domain.
    #[schemars(schema_with = "network", extend("default" = "none"))]
    pub network: Option<NetworkEntry>,
    /// Memory of all the server's processes together. If they need more, muxd ends the server.
    #[schemars(schema_with = "size", extend("x-default" = "unlimited", "x-range" = "16MiB to 1TiB"))]
    pub memory: Option<SizeEntry>,
    /// Processes and threads at the same time, including child processes.
    #[schemars(range(min = 8, max = 65_536), extend("default" = 256))]
    pub processes: Option<u32>,
}

/// `network = "none"`, `"any"`, or a list of hosts.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(untagged)]
pub enum NetworkEntry {
    Word(String),
    Hosts(Vec<String>),
}

/// `sandbox` of a server: `false`, or the grants of the sandbox. `true` is an empty table.
#[derive(Clone, Debug, PartialEq)]
pub enum SandboxChoice {
    Off,
    On(SandboxEntry),
}

impl SandboxChoice {
    pub fn read(value: &Value) -> Result<Self, String> {
        let table = match value {
            Value::Boolean(false) => return Ok(Self::Off),
            Value::Boolean(true) => return Ok(Self::On(SandboxEntry::default())),
            Value::Table(table) => table,
            _ => {
                return Err(
                    "`sandbox` must be true, false or a table, as in sandbox = { read = [\"~/notes\"] }"
                        .into(),
                );
            }
        };
        if let Some(unknown) = table.keys().find(|key| !SANDBOX_KEYS.contains(key)) {
            let known: Vec<String> = SANDBOX_KEYS
                .iter()
                .map(|key| format!("sandbox.{key}"))
                .collect();
            return Err(unknown_key_message(&format!("sandbox.{unknown}"), &known));
        }
        if let Some(network) = table.get("network")
            && NetworkEntry::deserialize(network.clone()).is_err()
        {
            return Err(
                "sandbox.network must be \"none\", \"any\", or a list of hosts such as [\"api.example.com:443\"]"
                    .into(),
            );
        }
        deserialize_entry(value.clone(), "sandbox").map(Self::On)
    }
}

fn network(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            { "enum": ["none", "any"] },
            { "type": "array", "items": { "type": "string" } }
        ],
        "x-type": "`\"none\"`, `\"any\"`, list of hosts"
    })
}

/// The schema of a server's `sandbox`.
pub(super) fn sandbox(generator: &mut SchemaGenerator) -> Schema {
    let entry = generator.subschema_for::<SandboxEntry>();
    json_schema!({ "anyOf": [{ "type": "boolean" }, entry] })
}
