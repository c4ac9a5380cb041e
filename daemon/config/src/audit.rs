//! `[audit]`, as the user wrote it.

use super::values::{Bytes, Seconds};
use schemars::JsonSchema;
use serde::Deserialize;

/// `[audit]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct AuditEntry {
    /// `false` writes no audit log.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Age at which a file is deleted.
    pub keep: Seconds<3_600, { u64::MAX }, { 90 * 24 * 60 * 60 }>,
    /// All files together. The oldest are deleted first.
    pub size: Bytes<{ 1 << 20 }, { 1 << 40 }, { 64 << 20 }>,
}
