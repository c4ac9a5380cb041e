//! Host side of the isolate: a pool of worker processes, and the one trait through which a guest
//! reaches the world.
//!
//! Threat model: the guest is hostile and has taken over its worker. What the worker says is
//! therefore checked as if a stranger had said it, its deadline is kept from outside with SIGKILL,
//! and a worker that broke a rule is never used again. A worker holds no secret, no descriptor but
//! its own socket, and one run at a time; losing it costs that run.
//!
//! Invariant: this crate knows nothing of MCP, of clients or of the store. It is given a
//! [`ToolHost`] for each run and asks nobody else.

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
