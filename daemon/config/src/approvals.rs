//! `[approvals]`, as the user wrote it.

use super::schema::{duration, size};
use schemars::JsonSchema;
use serde::Deserialize;

use super::SizeEntry;

/// `[approvals]`. Times are strings such as `"4m"`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalsEntry {
    /// How long a call is held. Then the program gets the error `pending`.
    #[schemars(schema_with = "duration", extend("default" = "4m", "x-range" = "1s to 1h"))]
    pub wait: Option<String>,
    /// Calls held at once, with at most 64 MiB of arguments in total. Further calls end as `busy`.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 256))]
    pub held: Option<usize>,
    /// Calls of one run held at once. Further calls end as `busy`.
    #[schemars(range(min = 1, max = 256), extend("default" = 32))]
    pub held_per_run: Option<usize>,
    /// Calls and results of a run that are stored for `mux resume`. A run with more cannot be resumed: `limit`.
    #[schemars(schema_with = "size", extend("default" = "4MiB", "x-range" = "64KiB to 32MiB"))]
    pub log: Option<SizeEntry>,
    /// How long an unanswered call and its run are stored.
    #[schemars(schema_with = "duration", extend("default" = "24h", "x-range" = "1m to 30d"))]
    pub keep: Option<String>,
    /// Desktop notifications, one at a time.
    #[schemars(extend("x-default" = "`true` if there is a session bus, `false` with `MUX_HOME` set"))]
    pub desktop: Option<bool>,
}
