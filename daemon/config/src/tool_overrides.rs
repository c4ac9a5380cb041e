//! `[servers.NAME.override.TOOL]` and `[sources.NAME.override.TOOL]`, as the user wrote them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Value;

use super::{AnnotationsEntry, deserialize_entry, schema::OVERRIDE_KEYS, unknown_key_message};

/// `[servers.NAME.override.TOOL]`: changes to one tool.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
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
    #[schemars(with = "BTreeMap<String, serde_json::Value>", extend("x-type" = "table"))]
    pub defaults: BTreeMap<String, Value>,
    /// Arguments that are always sent. Callers neither see nor pass them.
    #[schemars(with = "BTreeMap<String, serde_json::Value>", extend("x-type" = "table"))]
    pub fixed: BTreeMap<String, Value>,
}

impl ToolOverrideEntry {
    /// Reads one entry. An error in it does not disable the others.
    pub fn read(value: &Value) -> Result<Self, String> {
        let Value::Table(table) = value else {
            return Err("it must be a table, as in [servers.NAME.override.TOOL]".into());
        };
        if let Some(unknown) = table.keys().find(|key| !OVERRIDE_KEYS.contains(key)) {
            return Err(unknown_key_message(unknown, &OVERRIDE_KEYS));
        }
        for key in ["defaults", "fixed"] {
            let arguments = table.get(key).and_then(Value::as_table);
            let mut dated = arguments.into_iter().flatten();
            if let Some((name, _)) = dated.find(|(_, value)| has_date(value)) {
                return Err(format!(
                    "`{key}.{name}` has a date, which JSON does not have: put it in quotes"
                ));
            }
        }
        deserialize_entry(value.clone(), "the override")
    }
}

fn has_date(value: &Value) -> bool {
    match value {
        Value::Datetime(_) => true,
        Value::Array(items) => items.iter().any(has_date),
        Value::Table(members) => members.values().any(has_date),
        _ => false,
    }
}
