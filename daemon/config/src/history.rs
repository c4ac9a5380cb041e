//! `[history]`, as the user wrote it.

use super::values::{Bytes, Seconds};
use schemars::JsonSchema;
use serde::Deserialize;

const DAY: u64 = 24 * 60 * 60;

/// `[history]`: the runs that are kept with their programs, arguments and results.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryEntry {
    /// How long a run is kept. `"0"` keeps nothing.
    pub keep: Seconds<0, { 365 * DAY }, { 7 * DAY }>,
    /// The size of the database. Beyond it, the oldest runs are removed.
    pub size: Bytes<{ 1 << 20 }, { 1 << 40 }, { 1 << 30 }>,
}
