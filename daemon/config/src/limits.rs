//! `[limits]`, as the user wrote it.

use super::schema::{duration, size};
use schemars::JsonSchema;
use serde::Deserialize;

/// `[limits]`. Times are texts such as `"30s"`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsEntry {
    /// One run; `--timeout` chooses another time in this range. Ends as `timeout`.
    #[schemars(schema_with = "duration", extend("default" = "30s", "x-range" = "1s to 5m"))]
    pub wall: Option<String>,
    /// Processor time of a run whose wall time is 30 s or less; in proportion more for a longer one. Ends as `limit`.
    #[schemars(schema_with = "duration", extend("default" = "10s", "x-range" = "1s to 1h"))]
    pub cpu: Option<String>,
    /// JavaScript objects of a program. Ends as `memory`.
    #[schemars(schema_with = "size", extend("default" = "64MiB", "x-range" = "16MiB to 1GiB"))]
    pub heap: Option<SizeEntry>,
    /// Array buffers of a program. Ends as `memory`.
    #[schemars(schema_with = "size", extend("default" = "64MiB", "x-range" = "1MiB to 1GiB"))]
    pub buffers: Option<SizeEntry>,
    /// Tool calls of a run; steps of a program of steps. Ends as `limit`.
    #[schemars(range(min = 1, max = 100_000), extend("default" = 1000))]
    pub calls: Option<u32>,
    /// Concurrent calls of one run; more calls wait.
    #[schemars(range(min = 1, max = 256), extend("default" = 32))]
    pub calls_at_once: Option<usize>,
    /// Concurrent calls of one server; more calls wait and take turns.
    #[schemars(range(min = 1, max = 256), extend("default" = 8))]
    pub calls_per_server: Option<usize>,
    /// Servers that start at the same time; a start that takes over 5 s lets the next one begin.
    #[schemars(range(min = 1, max = 64), extend("default" = 4))]
    pub starts: Option<usize>,
    /// A client's answer to one server request; then it is declined. The clocks of the call and the run are stopped
    /// meanwhile.
    #[schemars(schema_with = "duration", extend("default" = "5m", "x-range" = "1s to 1h"))]
    pub ask: Option<String>,
    /// All server requests of one run, or of one call outside of runs; later ones are declined at once.
    #[schemars(schema_with = "duration", extend("default" = "15m", "x-range" = "1s to 24h"))]
    pub ask_total: Option<String>,
    /// Arguments of one call; one emitted part. Ends as `limit`.
    #[schemars(schema_with = "size", extend("default" = "4MiB", "x-range" = "1KiB to 15MiB"))]
    pub argument: Option<SizeEntry>,
    /// Console output of a run; the rest is dropped, and the output says so.
    #[schemars(schema_with = "size", extend("default" = "256KiB", "x-range" = "1KiB to 8MiB"))]
    pub console: Option<SizeEntry>,
    /// The text of a program. Ends as `limit`.
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
    /// All stored values on disk; the least recently used are deleted first.
    #[schemars(schema_with = "size", extend("default" = "512MiB", "x-range" = "1MiB to 1PiB"))]
    pub kept: Option<SizeEntry>,
    /// Age of a stored value.
    #[schemars(schema_with = "duration", extend("default" = "24h", "x-range" = "1m to 365d"))]
    pub kept_for: Option<String>,
    /// Worker processes; one client gets at most three quarters of them.
    #[schemars(range(min = 1, max = 256), extend("x-default" = "8 per core, at least 8, at most 64"))]
    pub workers: Option<usize>,
    /// Runs that wait for a worker; one client gets at most half of it. Then `busy`.
    #[schemars(range(min = 1, max = 100_000), extend("default" = 1000))]
    pub queue: Option<usize>,
}

/// Bytes: a number, or a text such as `"64MiB"`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(untagged)]
pub enum SizeEntry {
    Bytes(u64),
    Text(String),
}
