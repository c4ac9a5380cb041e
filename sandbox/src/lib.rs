//! The daemon's side of the isolate: a pool of worker processes, and the one trait through which a guest reaches the
//! world.
//!
//! It knows `mux-wire` and nothing else of this workspace: neither MCP, nor clients, nor the store. It is given a
//! [`ToolHost`] for each run and asks nothing else.
//!
//! - `pool` gives workers out and keeps their number: `pool/contract` its settings and what it reports, `pool/load` how
//!   many were wanted lately, `pool/state` what it knows behind one lock, `pool/refusals` why a run gets no worker. Two
//!   fresh workers are ready at any time.
//! - `fair` is the queue in which owners take turns, then the connections of an owner.
//! - `run` is one program on one worker, with a deadline kept from outside: `run/calls` its calls, running and waiting,
//!   `run/processor` its processor time, `run/spoken` what it says beside its calls.
//! - `worker_process` starts, addresses and ends a worker: `worker_process/outbox` frames on their way,
//!   `worker_process/death` why it ended. Workers are started from one thread of the daemon and die with it, by their
//!   socket and PDEATHSIG.
//! - `snapshot` keeps the blob from which isolates are built faster (`snapshot/files`). `limits` names every limit of a
//!   run; `host` is the trait; `scarce` words what to do when the system has no more of something.
//!
//! Threat model: the guest is hostile and has taken over its worker. What the worker says is checked as if a stranger
//! had said it, its deadline is kept from outside with SIGKILL, and a worker that broke a rule is never used again. A
//! worker holds no secret, no descriptor but its own socket, and one run at a time; losing it costs that run.
//!
//! A worker that has run a program belongs to that program's owner (client program, agent, workspace) until it ends,
//! after 200 runs, after any limit, or when it was not needed for half a minute.
//!
//! Invariants:
//!
//! - Frame length, call numbers, kinds, text lengths, console, parts, result and waiting arguments of a worker are
//!   checked and counted; a breach ends that worker and that run.
//! - A run ends by its deadline, whatever its worker does, and the calls that it started are cancelled by then.
//! - `tests/data/hostile` and `mux-rogue-worker` test both.

pub mod fair;
pub mod host;
pub mod limits;
pub mod pool;
pub mod scarce;

mod run;
mod snapshot;
mod worker_process;

pub use fair::Turn;
pub use host::ToolHost;
pub use limits::{Limits, Memory};
pub use pool::{Bounds, Pool, PoolSettings, PoolStatus, RunRequest};
pub use worker_process::Checked;
