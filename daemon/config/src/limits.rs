//! `[limits]`, as the user wrote it.

use super::schema::{duration, size};
use schemars::JsonSchema;
use serde::Deserialize;

/// `[limits]`. Times are strings such as `"30s"`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsEntry {
    /// Duration of a run. `--timeout` sets another time in this range. Ends as `timeout`.
    #[schemars(schema_with = "duration", extend("default" = "30s", "x-range" = "1s to 5m"))]
    pub wall: Option<String>,
    /// CPU time of a run with a wall time of 30 s or less, and proportionally more for a longer run. Ends as `limit`.
    #[schemars(schema_with = "duration", extend("default" = "10s", "x-range" = "1s to 1h"))]
    pub cpu: Option<String>,
    /// JavaScript objects of a program. Ends as `memory`.
    #[schemars(schema_with = "size", extend("default" = "64MiB", "x-range" = "16MiB to 1GiB"))]
    pub heap: Option<SizeEntry>,
    /// Array buffers of a program. Ends as `memory`.
    #[schemars(schema_with = "size", extend("default" = "64MiB", "x-range" = "1MiB to 1GiB"))]
    pub buffers: Option<SizeEntry>,
    /// Tool calls of a run, or steps of a step program. Ends as `limit`.
    #[schemars(range(min = 1, max = 100_000), extend("default" = 1000))]
    pub calls: Option<u32>,
    /// Concurrent calls of one run. Further calls wait.
    #[schemars(range(min = 1, max = 256), extend("default" = 32))]
    pub calls_at_once: Option<usize>,
    /// Concurrent calls to one server. Further calls wait and take turns.
    #[schemars(range(min = 1, max = 256), extend("default" = 8))]
    pub calls_per_server: Option<usize>,
    /// Servers that start at the same time. If a start takes more than 5 s, the next start begins.
    #[schemars(range(min = 1, max = 64), extend("default" = 4))]
    pub starts: Option<usize>,
    /// Time for a client's answer to one server request. Then the request is declined. Meanwhile, the clocks of the
    /// call and the run are stopped.
    #[schemars(schema_with = "duration", extend("default" = "5m", "x-range" = "1s to 1h"))]
    pub ask: Option<String>,
    /// Time for all server requests of one run, or of one call outside of runs. Later requests are declined
    /// immediately.
    #[schemars(schema_with = "duration", extend("default" = "15m", "x-range" = "1s to 24h"))]
    pub ask_total: Option<String>,
    /// Arguments of one call, or one emitted part. Ends as `limit`.
    #[schemars(schema_with = "size", extend("default" = "4MiB", "x-range" = "1KiB to 15MiB"))]
    pub argument: Option<SizeEntry>,
    /// Console output of a run. The rest is dropped, and the output says so.
    #[schemars(schema_with = "size", extend("default" = "256KiB", "x-range" = "1KiB to 8MiB"))]
    pub console: Option<SizeEntry>,
    /// Length of a program. Ends as `limit`.
    #[schemars(schema_with = "size", extend("default" = "1MiB", "x-range" = "1KiB to 8MiB"))]
    pub source: Option<SizeEntry>,
    /// All emitted parts of a run. Ends as `limit`.
    #[schemars(schema_with = "size", extend("default" = "16MiB", "x-range" = "1KiB to 256MiB"))]
    pub emitted: Option<SizeEntry>,
    /// Timers of a run. Ends as `limit`.
    #[schemars(range(min = 1, max = 1_000_000), extend("default" = 10000))]
    pub timers: Option<u32>,
    /// A longer result or part is stored, and the caller gets a handle.
    #[schemars(schema_with = "size", extend("default" = "256KiB", "x-range" = "1KiB to 8MiB"))]
    pub inline: Option<SizeEntry>,
    /// All stored values on disk. The least recently used are deleted first.
    #[schemars(schema_with = "size", extend("default" = "512MiB", "x-range" = "1MiB to 1PiB"))]
    pub kept: Option<SizeEntry>,
    /// Age of a stored value.
    #[schemars(schema_with = "duration", extend("default" = "24h", "x-range" = "1m to 365d"))]
    pub kept_for: Option<String>,
    /// Worker processes. One client gets at most three quarters of them.
    #[schemars(range(min = 1, max = 256), extend("x-default" = "8 per core, at least 8, at most 64"))]
    pub workers: Option<usize>,
    /// Runs that wait for a worker. One client gets at most half of the queue. Further runs end as `busy`.
    #[schemars(range(min = 1, max = 100_000), extend("default" = 1000))]
    pub queue: Option<usize>,
}

/// Bytes: a number, or a string such as `"64MiB"`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(untagged)]
pub enum SizeEntry {
    Bytes(u64),
    Text(String),
}
