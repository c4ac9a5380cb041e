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
    /// Servers whose entry has no `sandbox`: `enforce` starts them in a sandbox that grants nothing beyond what every
    /// program needs; `warn` starts them without one, and `mux doctor` names them; `off` starts them without one.
    #[schemars(schema_with = "text", extend("enum" = ["enforce", "warn", "off"], "default" = "warn"))]
    pub mode: Option<String>,
}

/// `sandbox = { … }` of a server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SandboxEntry {
    /// Files and directories that the server may read, besides its own program and the system's; a relative path starts
    /// at your home.
    pub read: Vec<String>,
    /// Files and directories that it may read and change.
    pub write: Vec<String>,
    /// Which hosts it may reach: none, any, or those of a list of `host` and `host:port`, where `*.example.com` means
    /// every host below that domain.
    #[schemars(schema_with = "network", extend("default" = "none"))]
    pub network: Option<NetworkEntry>,
    /// Memory of all its processes together; it is ended when it needs more.
    #[schemars(schema_with = "size", extend("x-default" = "unlimited", "x-range" = "16MiB to 1TiB"))]
    pub memory: Option<SizeEntry>,
    /// Processes and threads at the same time, those of its children included.
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

/// `sandbox` of a server: `false`, or what the sandbox grants; `true` is an empty table.
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
