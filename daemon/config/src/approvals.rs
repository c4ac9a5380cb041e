//! `[approvals]`, as the user wrote it.

use super::values::{Bytes, Count, Seconds};
use schemars::JsonSchema;
use serde::Deserialize;

const DAY: u64 = 24 * 60 * 60;

/// `[approvals]`. Times are strings such as `"4m"`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalsEntry {
    /// How long a call is held. Then the program gets the error `pending`.
    pub wait: Seconds<1, 3_600, { 4 * 60 }>,
    /// Calls held at once, with at most 64 MiB of arguments in total. Further calls end as `busy`.
    pub held: Count<1, 10_000, 256>,
    /// Calls of one run held at once. Further calls end as `busy`.
    pub held_per_run: Count<1, 256, 32>,
    /// Calls and results of a run that are stored for `mux resume`. A run with more cannot be resumed: `limit`.
    pub log: Bytes<{ 64 << 10 }, { 32 << 20 }, { 4 << 20 }>,
    /// How long an unanswered call and its run are stored.
    pub keep: Seconds<60, { 30 * DAY }, DAY>,
    /// Desktop notifications, one at a time.
    #[schemars(extend("x-default" = "`true` if there is a session bus, `false` with `MUX_HOME` set"))]
    pub desktop: Option<bool>,
}
