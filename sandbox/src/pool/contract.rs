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
    /// What the program of one worker may hold.
    pub memory: Memory,
    /// Where snapshots of the guest's world are kept between starts; none are made without.
    pub snapshots: Option<PathBuf>,
}

/// Memory of one isolate, in MiB.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Memory {
    pub heap: u32,
    /// All array buffers together, which the heap does not count.
    pub buffers: u32,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            heap: 64,
            buffers: 64,
        }
    }
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
    /// The connection that asks. Owners take turns in the line, and the clients of one owner do.
    pub client: u64,
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
    /// What holds the worker that started last.
    pub layers: Vec<String>,
    /// Whether its isolates are built from a snapshot.
    pub snapshot: bool,
    /// Why the last worker could not be started.
    pub problem: Option<String>,
}
