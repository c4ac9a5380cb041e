//! `[audit]`, as the user wrote it.

use serde::Deserialize;

use super::SizeEntry;

/// `[audit]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct AuditEntry {
    /// `false` writes nothing down.
    pub enabled: Option<bool>,
    /// How old a line may be, such as `"90d"`.
    pub keep: Option<String>,
    /// Of all files together.
    pub size: Option<SizeEntry>,
}
