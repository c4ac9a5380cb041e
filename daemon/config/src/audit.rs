//! `[audit]`, as the user wrote it.

use super::schema::{duration, size};
use schemars::JsonSchema;
use serde::Deserialize;

use super::SizeEntry;

/// `[audit]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct AuditEntry {
    /// `false` writes no audit log.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Age at which a file is deleted.
    #[schemars(schema_with = "duration", extend("default" = "90d", "x-range" = "at least 1h"))]
    pub keep: Option<String>,
    /// All files together. The oldest are deleted first.
    #[schemars(schema_with = "size", extend("default" = "64MiB", "x-range" = "1MiB to 1TiB"))]
    pub size: Option<SizeEntry>,
}
