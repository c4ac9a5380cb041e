//! `[pins]`, as the user wrote it.

use super::schema::text;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[pins]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct PinsEntry {
    /// `refuse`: a tool whose definition changed keeps its old description and its calls end as `denied` until you
    /// accept the change; `warn`: it is offered as it is now, and the change is reported; `off`: nothing is pinned.
    #[schemars(schema_with = "text", extend("enum" = ["refuse", "warn", "off"], "default" = "refuse"))]
    pub on_change: Option<String>,
}
