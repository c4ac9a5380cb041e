//! What a daemon asks of its own process: the tokio runtime and the watch over its polls, work that blocks, file
//! descriptors, core dumps, freed memory, and a clock that a change of the wall clock does not move.
//!
//! It knows no other crate of this workspace.
//!
//! - `runtime` builds the daemon's threads. `runtime/poll_watch` measures the longest poll, for `MUX_WATCH_POLLS`: the
//!   hostile tests hold it below 250 ms of processor time, and the daemon's growth below 64 MiB.
//! - `blocking_pool` takes work that lasts more than a moment off the runtime's threads.
//! - `descriptor_limits` raises the limit of open files, for the daemon only; `core_dumps` makes muxd, the keeper and its
//!   guard not dumpable; `malloc_trim` returns long values to the system when they are freed; `monotonic_age` says how
//!   old something is.
//!
//! Invariants:
//!
//! - No function here blocks a thread of the runtime.
//! - What is changed for the daemon itself (limits, dumpability) is given back to child processes by `give_back`.

pub mod blocking_pool;
#[cfg(target_os = "linux")]
pub mod core_dumps;
pub mod descriptor_limits;
pub mod malloc_trim;
pub mod monotonic_age;
pub mod runtime;
