//! `[servers.NAME.override.TOOL]` and `[sources.NAME.override.TOOL]`, as the user wrote them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};
use toml::Value;

use super::{AnnotationsEntry, deserialize_entry};

/// `[servers.NAME.override.TOOL]`: changes to one tool.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ToolOverrideEntry {
    /// The tool's name in programs, lists, rules, approvals and the audit log.
    #[schemars(extend("x-default" = "the server's name for it"))]
    pub name: Option<String>,
    /// Replaces the server's description.
    #[schemars(extend("x-default" = "the server's"))]
    pub description: Option<String>,
    /// Replaces the server's annotations for rules, approvals and `retry`.
    pub annotations: AnnotationsEntry,
    /// Arguments for calls that do not pass them.
    #[serde(deserialize_with = "sorted")]
    #[schemars(with = "BTreeMap<String, Json>", extend("x-type" = "table"))]
    pub defaults: Map<String, Json>,
    /// Arguments that are always sent. Callers neither see nor pass them.
    #[serde(deserialize_with = "sorted")]
    #[schemars(with = "BTreeMap<String, Json>", extend("x-type" = "table"))]
    pub fixed: Map<String, Json>,
}

impl ToolOverrideEntry {
    /// Reads one entry. An error in it does not disable the others.
    pub fn read(value: &Value) -> Result<Self, String> {
        let Value::Table(table) = value else {
            return Err("it must be a table, as in [servers.NAME.override.TOOL]".into());
        };
        for key in ["defaults", "fixed"] {
            let arguments = table.get(key).and_then(Value::as_table);
            for (name, value) in arguments.into_iter().flatten() {
                if let Some(what) = missing_in_json(value) {
                    return Err(format!("`{key}.{name}` has {what}"));
                }
            }
        }
        deserialize_entry(value.clone(), "the override")
    }
}

/// Reads arguments in the order of their names.
fn sorted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Json>, D::Error> {
    let arguments = BTreeMap::<String, Json>::deserialize(deserializer)?;
    Ok(arguments.into_iter().collect())
}

/// Names the first part of the value that JSON does not have.
fn missing_in_json(value: &Value) -> Option<&'static str> {
    match value {
        Value::Datetime(_) => Some("a date, which JSON does not have: put it in quotes"),
        Value::Float(number) if !number.is_finite() => Some("a number that JSON does not have"),
        Value::Array(items) => items.iter().find_map(missing_in_json),
        Value::Table(members) => members.values().find_map(missing_in_json),
        _ => None,
    }
}
