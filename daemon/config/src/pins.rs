//! `[pins]`, as the user wrote it.

use serde::Deserialize;

/// `[pins]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct PinsEntry {
    /// `"refuse"`, `"warn"` or `"off"`: what becomes of a tool that is not what it was.
    pub on_change: Option<String>,
}
