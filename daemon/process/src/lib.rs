//! What a daemon asks of its own process: the tokio runtime and the watch over its polls, work that blocks, file
//! descriptors, core dumps, freed memory, and a clock that a change of the wall clock does not move.
//!
//! It knows no other crate of this workspace. Invariants:
//!
//! - No function here blocks a thread of the runtime.
//! - What is changed for the daemon itself (limits, dumpability) is given back to child processes by `give_back`.

pub mod blocking_pool;
#[cfg(target_os = "linux")]
pub mod core_dumps;
pub mod descriptors;
pub mod freed_memory;
pub mod monotonic_age;
pub mod runtime;
