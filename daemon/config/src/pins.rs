//! `[pins]`, as the user wrote it.

use super::choices::OnChange;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[pins]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct PinsEntry {
    /// `refuse`: a changed tool keeps its old description, and calls end as `denied` until you accept the change.
    /// `warn`: the new definition is offered, and the change is reported. `off`: nothing is pinned.
    pub on_change: OnChange,
}
