//! The daemon's side of the isolate: a pool of worker processes, and the one trait through which a guest reaches the
//! outside.
//!
//! In this workspace, depends only on `mux-wire`. The crate knows neither MCP, nor clients, nor the store. The daemon
//! passes a [`ToolHost`] for each run.
//!
//! - `pool` assigns workers to runs and starts new ones: `pool/settings` has its settings and its status,
//!   `pool/demand_peak` measures the recent demand, `pool/state` is the state behind one lock, `pool/faults` has the
//!   errors of a run that gets no worker. Two fresh workers are ready at any time.
//! - `fair_queue` is the queue in which owners take turns, then the connections of an owner.
//! - `run` is one program on one worker, with a deadline that the daemon enforces: `run/call_queue` has its calls,
//!   running and queued, `run/processor_limit` its CPU time, `run/output_meter` counts its console output and emitted
//!   parts.
//! - `worker_process` starts a worker, exchanges frames with it and ends it: `worker_process/outbox` queues frames,
//!   `worker_process/death` derives why it ended. Workers are started from one thread of the daemon and die with the
//!   daemon, by their link and PDEATHSIG.
//! - `snapshot_store` makes and stores (`snapshot_store/files`) the blob from which isolates are built faster. `limits`
//!   has every limit of a run, `tool_host` the trait, `resource_remedies` the remedies for exhausted system resources.
//!
//! Threat model: the guest is hostile and has taken over its worker. Every frame from a worker is checked as attacker
//! input, the deadline is enforced with SIGKILL, and a worker that broke a rule is never used again. A worker has no
//! secrets, no descriptors except its own pipes, and one run at a time. Losing it costs only that run.
//!
//! A worker that has run a program belongs to that program's owner (client program, agent, workspace) until it ends:
//! after 1,000 runs, after any limit is reached, or when it was not needed for half a minute.
//!
//! Invariants:
//!
//! - Frame length, call numbers, kinds, string lengths, console, parts, result and waiting arguments of a worker are
//!   checked and counted. A breach ends that worker and that run.
//! - A run ends by its deadline, regardless of what its worker does, and the calls that it started are cancelled by
//!   then.
//! - `tests/data/hostile` and `mux-rogue-worker` test both.

pub mod fair_queue;
pub mod limits;
pub mod pool;
pub mod resource_remedies;
pub mod tool_host;

mod run;
mod snapshot_store;
mod worker_process;

pub use fair_queue::QueueKey;
pub use limits::{MemoryLimits, ProgramLimits};
pub use mux_wire::ProgramFindings;
pub use pool::{Pool, PoolLimits, PoolSettings, PoolStatus, RunRequest};
pub use tool_host::ToolHost;
