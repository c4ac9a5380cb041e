//! What the pool is given, and what it tells.

use std::{path::PathBuf, time::Duration};

use crate::Limits;

/// How many workers, and for how long.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// The `mux-worker` program.
    pub worker: PathBuf,
    /// Workers that stand ready when nothing runs.
    pub floor: usize,
    /// Workers in all, running ones included.
    pub ceiling: usize,
    /// A worker that has served this many runs is replaced.
    pub runs_per_worker: u32,
    /// From the start of a process until its isolate is ready.
    pub start_timeout: Duration,
    /// How long a run may wait for a free worker.
    pub queue_timeout: Duration,
    /// How many runs may wait for a free worker.
    pub queue: usize,
    /// A syntax check may take this long.
    pub check_timeout: Duration,
}

/// A program, what it is given, and for whom.
pub struct RunRequest {
    pub source: String,
    /// JSON text of `mux.input`.
    pub input: String,
    /// JSON text of `{"server": ["tool", …]}`.
    pub names: String,
    pub limits: Limits,
    /// Runs of one owner may follow each other in one worker process, never in one isolate.
    pub owner: String,
}

/// What `status` shows.
#[derive(Clone, Debug, Default)]
pub struct PoolStatus {
    pub engine: Option<String>,
    pub ready: usize,
    pub busy: usize,
    pub starting: usize,
    pub waiting: usize,
    pub pids: Vec<u32>,
    /// Why the last worker could not be started.
    pub problem: Option<String>,
}
