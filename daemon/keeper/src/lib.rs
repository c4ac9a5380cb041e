//! The keeper: a small separate process that starts and owns every stdio server of the daemon.
//!
//! This crate depends on `mux-process` and knows nothing of MCP: other daemons could use it for their child processes.
//! The keeper only starts servers; the daemon starts workers itself.
//!
//! The daemon cannot guarantee that it ends its children, because it runs no code after SIGKILL. On Linux it therefore
//! starts `muxd keeper`, which has no threads, is the subreaper of every server tree, passes the pipe ends of the
//! servers to the daemon, and ends the trees when the daemon's end of their socket closes. Above the keeper is its
//! guard, forked from it before it has a child: the next subreaper, which ends the processes that a killed keeper
//! leaves behind. If the daemon, the keeper and the guard are all killed, the next keeper ends the remaining processes.
//! On other systems `direct_children` replaces the keeper, with weaker guarantees (process groups only): the daemon
//! starts its servers itself, and `muxd keeper` is a guard (`group_guard`) that ends their process groups if the daemon
//! is killed. On Windows, `job_children` does so with job objects, which the system ends with the daemon, without
//! another process.
//!
//! - The daemon's side is [`Keeper`] (`keeper_handle`) and [`KeptChild`] (`kept_child`). `keeper_owner` is the task
//!   that owns the keeper process and the table of its children (`child_entry`), `keeper_link` its end of the socket.
//!   `sweep_dead_keeper` ends the processes of a killed keeper, `program_lookup` searches `PATH`, `child_pipes` has the
//!   pipes of a child, and `error` the errors.
//! - The keeper process is [`run_keeper`] (`keeper_process`): one thread, one loop over its socket, its signals
//!   (`signals`) and its clock. `daemon_socket` is its end of the socket, `launch_child` starts one child,
//!   `process_trees` ends trees, also those that exceed their limits, `process_table` reads processes and their
//!   ancestry from `/proc`, `keeper_lock` waits for the previous keeper, `daemons` is the list of served daemons (one,
//!   or two during an upgrade), `orphans` ends the processes that the last keeper of this home left behind,
//!   `keeper_guard` is the parent process.
//! - `wire` is the protocol between the two. `descriptor_passing` sends bytes and descriptors through the socket.
//!
//! Invariants:
//!
//! - Every child of the daemon, with its whole tree, has ended 2 s after the daemon, however the daemon died. If keeper
//!   and guard die at the same moment, it ends when the next daemon starts (Linux; elsewhere process groups only).
//! - A child inherits only its three pipes, the environment of its request, and the limits that muxd was started with.
//!   The daemon, the keeper and its guard are not dumpable: no process of the user can read their memory
//!   (`mux_process::core_dumps`).

mod child_pipes;
mod error;
#[cfg(windows)]
mod job_children;
mod keeper_handle;
mod kept_child;
mod program_lookup;

#[cfg(target_os = "linux")]
mod child_entry;
#[cfg(target_os = "linux")]
mod daemon_socket;
#[cfg(target_os = "linux")]
mod daemons;
#[cfg(target_os = "linux")]
pub mod descriptor_passing;
#[cfg(target_os = "linux")]
mod keeper_guard;
#[cfg(target_os = "linux")]
mod keeper_link;
#[cfg(unix)]
mod keeper_lock;
#[cfg(target_os = "linux")]
mod keeper_owner;
#[cfg(target_os = "linux")]
mod keeper_process;
#[cfg(target_os = "linux")]
mod launch_child;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(target_os = "linux")]
mod process_table;
#[cfg(target_os = "linux")]
mod process_trees;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod sweep_dead_keeper;
#[cfg(target_os = "linux")]
pub mod wire;

// Compiled for tests on every system, to notice breakage on Linux.
#[cfg(all(unix, any(not(target_os = "linux"), test)))]
mod direct_children;
#[cfg(all(unix, any(not(target_os = "linux"), test)))]
mod group_guard;

pub use child_pipes::{HandedPipes, StderrPipe, StdinPipe, StdoutPipe, hand_over};
pub use error::{KeeperError, SpawnError};
#[cfg(all(unix, not(target_os = "linux")))]
pub use group_guard::run_keeper;
#[cfg(target_os = "linux")]
pub use keeper_handle::KeeperOffer;
pub use keeper_handle::{Keeper, find_program, find_program_blocking};
#[cfg(target_os = "linux")]
pub use keeper_process::run_keeper;
pub use kept_child::{ChildExit, ExceededLimit, KeptChild, SpawnSpec, TreeLimits};
