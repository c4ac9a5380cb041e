//! `[limits]`, as the user wrote it.

use super::values::{Bytes, Count, Seconds};
use schemars::JsonSchema;
use serde::Deserialize;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// `[limits]`. Times are strings such as `"30s"`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsEntry {
    /// Duration of a run. `--timeout` sets another time in this range. Ends as `timeout`.
    pub wall: Seconds<1, { 5 * MINUTE }, 30>,
    /// CPU time of a run with a wall time of 30 s or less, and proportionally more for a longer run. Ends as `limit`.
    pub cpu: Seconds<1, HOUR, 10>,
    /// JavaScript objects of a program. Ends as `memory`.
    pub heap: Bytes<{ 16 * MIB }, GIB, { 64 * MIB }>,
    /// Array buffers of a program. Ends as `memory`.
    pub buffers: Bytes<MIB, GIB, { 64 * MIB }>,
    /// Tool calls of a run, or steps of a step program. Ends as `limit`.
    pub calls: Count<1, 100_000, 1_000>,
    /// Concurrent calls of one run. Further calls wait.
    pub calls_at_once: Count<1, 256, 32>,
    /// Concurrent calls to one server. Further calls wait and take turns.
    pub calls_per_server: Count<1, 256, 8>,
    /// Servers that start at the same time. If a start takes more than 5 s, the next start begins.
    pub starts: Count<1, 64, 4>,
    /// Time for a client's answer to one server request. Then the request is declined. Meanwhile, the clocks of the
    /// call and the run are stopped.
    pub ask: Seconds<1, HOUR, { 5 * MINUTE }>,
    /// Time for all server requests of one run, or of one call outside of runs. Later requests are declined
    /// immediately.
    pub ask_total: Seconds<1, DAY, { 15 * MINUTE }>,
    /// Arguments of one call, or one emitted part. Ends as `limit`.
    pub argument: Bytes<KIB, { 15 * MIB }, { 4 * MIB }>,
    /// Console output of a run. The rest is dropped, and the output says so.
    pub console: Bytes<KIB, { 8 * MIB }, { 256 * KIB }>,
    /// Length of a program. Ends as `limit`.
    pub source: Bytes<KIB, { 8 * MIB }, MIB>,
    /// All emitted parts of a run. Ends as `limit`.
    pub emitted: Bytes<KIB, { 256 * MIB }, { 16 * MIB }>,
    /// Timers of a run. Ends as `limit`.
    pub timers: Count<1, 1_000_000, 10_000>,
    /// A longer result or part is stored, and the caller gets a handle.
    pub inline: Bytes<KIB, { 8 * MIB }, { 256 * KIB }>,
    /// All stored values on disk. The least recently used are deleted first.
    pub kept: Bytes<MIB, { GIB * MIB }, { 512 * MIB }>,
    /// Age of a stored value.
    pub kept_for: Seconds<MINUTE, { 365 * DAY }, DAY>,
    /// Worker processes. One client gets at most three quarters of them.
    #[schemars(extend("x-default" = "8 per core, at least 8, at most 64"))]
    pub workers: Option<Count<1, 256>>,
    /// Runs that wait for a worker. One client gets at most half of the queue. Further runs end as `busy`.
    pub queue: Count<1, 100_000, 1_000>,
}
