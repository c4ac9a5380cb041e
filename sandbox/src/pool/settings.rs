//! The settings, the requests and the status of the pool.

use std::{path::PathBuf, time::Duration};

use crate::{ProgramLimits, fair_queue::QueueKey, limits::MemoryLimits};

/// Settings of the pool: how many workers it keeps, and its timeouts.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// The `mux-worker` program.
    pub worker: PathBuf,
    /// The number of fresh workers that are kept ready.
    pub floor: usize,
    /// The settings that a configuration reload may change.
    pub bounds: PoolLimits,
    /// A worker is replaced after this many runs.
    pub runs_per_worker: u32,
    /// From the start of a process until its isolate is ready.
    pub start_timeout: Duration,
    /// How long a run may wait for a free worker.
    pub queue_timeout: Duration,
    /// The maximum duration of a check, which runs nothing.
    pub check_timeout: Duration,
    /// How long idle workers are kept. The number kept is the number recently needed at the same time.
    pub idle: Duration,
    /// The directory of snapshots of the guest's realm. Without one, no snapshots are made.
    pub snapshots: Option<PathBuf>,
}

/// The resources that the pool may use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PoolLimits {
    /// The maximum number of workers, busy ones included.
    pub ceiling: usize,
    /// The maximum number of runs that wait for a free worker. One owner may have half of them.
    pub queue: usize,
    /// The memory limits of a program.
    pub memory: MemoryLimits,
}

/// A program with its input, its limits and its owner.
pub struct RunRequest {
    pub source: String,
    /// `mux.input` as JSON.
    pub input: String,
    /// The server and tool names that the program can list, in the format of [`mux_wire::Program::names`].
    pub names: String,
    pub limits: ProgramLimits,
    /// Runs of one owner may follow each other in one worker process, never in one isolate. In the queue, owners take
    /// turns, and so do the clients of one owner.
    pub turn: QueueKey,
}

/// The status of the pool, as `mux status` shows it.
#[derive(Clone, Debug, Default)]
pub struct PoolStatus {
    pub engine: Option<String>,
    /// The version of the engine, if it reports one.
    pub engine_version: Option<String>,
    pub ready: usize,
    pub busy: usize,
    pub starting: usize,
    pub waiting: usize,
    pub pids: Vec<u32>,
    /// The sandbox layers of the worker that was started last.
    pub layers: Vec<String>,
    /// Whether the isolates of that worker are built from a snapshot.
    pub snapshot: bool,
    /// Processes since the start of the pool: started, failed to start, and ended.
    pub started: u64,
    pub failed: u64,
    pub ended: u64,
    /// Why the last worker could not be started.
    pub problem: Option<String>,
}
