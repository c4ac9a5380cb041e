//! Process-level facilities of the daemon: the tokio runtime and the watch over its polls, blocking work, file
//! descriptors, core dumps, freed memory, and an age that does not jump with the wall clock.
//!
//! This crate depends on no other crate of this workspace.
//!
//! - `runtime` builds the daemon's threads. `runtime/poll_watch` measures the longest poll, for `MUX_WATCH_POLLS`: the
//!   hostile tests keep it below 250 ms of CPU time, and the daemon's growth below 64 MiB.
//! - `blocking_pool` runs long computations outside the runtime's threads.
//! - `descriptor_limits` raises the limit of open files, for the daemon only. `core_dumps` makes muxd, the keeper and
//!   its guard not dumpable. `malloc_trim` returns freed memory to the system. `monotonic_age` measures ages.
//!   `process_stats` reads the resource use of a process and its tree from `/proc`, macOS's libproc or Windows.
//! - `inherited_descriptors` keeps descriptors from programs that this process becomes or starts.
//! - `child_group` starts a child apart from this process's terminal, `thread_clock` measures a thread's CPU time, and
//!   `job_object` ends process trees on Windows.
//!
//! Invariants:
//!
//! - No function here blocks a thread of the runtime.
//! - Changes to the daemon itself are undone for child processes: limits by `descriptor_limits::give_back` and
//!   `core_dumps::restore_for_child`, dumpability by their exec.

pub mod blocking_pool;
pub mod child_group;
pub mod core_dumps;
pub mod descriptor_limits;
#[cfg(target_os = "linux")]
pub mod inherited_descriptors;
#[cfg(windows)]
pub mod job_object;
pub mod malloc_trim;
pub mod monotonic_age;
pub mod process_stats;
pub mod runtime;
pub mod thread_clock;
