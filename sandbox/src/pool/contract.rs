//! What the pool is given, and what it tells.

use std::{path::PathBuf, time::Duration};

use crate::{Limits, fair::Turn, limits::Memory};

/// How many workers, and for how long.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// The `mux-worker` program.
    pub worker: PathBuf,
    /// Fresh workers that stand ready when nothing runs.
    pub floor: usize,
    /// What a reload of the configuration may change.
    pub bounds: Bounds,
    /// A worker that has served this many runs is replaced.
    pub runs_per_worker: u32,
    /// From the start of a process until its isolate is ready.
    pub start_timeout: Duration,
    /// How long a run may wait for a free worker.
    pub queue_timeout: Duration,
    /// A check, which runs nothing, may take this long.
    pub check_timeout: Duration,
    /// As many workers as were wanted at once are kept for this long.
    pub idle: Duration,
    /// Where snapshots of the guest's world are kept between starts; none are made without.
    pub snapshots: Option<PathBuf>,
}

/// What the pool may use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bounds {
    /// Workers in all, running ones included.
    pub ceiling: usize,
    /// How many runs may wait for a free worker. One owner may have half of them.
    pub queue: usize,
    /// What the program of one worker may hold.
    pub memory: Memory,
}

/// A program, what it is given, and for whom.
pub struct RunRequest {
    pub source: String,
    /// JSON text of `mux.input`.
    pub input: String,
    /// What a program sees of servers and tools when it lists them, as [`mux_wire::Program::names`] has it.
    pub names: String,
    pub limits: Limits,
    /// Runs of one owner may follow each other in one worker process, never in one isolate. Owners take
    /// turns in the line, and the clients of one owner do.
    pub turn: Turn,
}

/// What `status` shows.
#[derive(Clone, Debug, Default)]
pub struct PoolStatus {
    pub engine: Option<String>,
    /// The engine's own version, where it tells.
    pub engine_version: Option<String>,
    pub ready: usize,
    pub busy: usize,
    pub starting: usize,
    pub waiting: usize,
    pub pids: Vec<u32>,
    /// What holds the worker that started last.
    pub layers: Vec<String>,
    /// Whether its isolates are built from a snapshot.
    pub snapshot: bool,
    /// Since the pool began: processes that were started, that could not be, and that have ended.
    pub started: u64,
    pub failed: u64,
    pub ended: u64,
    /// Why the last worker could not be started.
    pub problem: Option<String>,
}
