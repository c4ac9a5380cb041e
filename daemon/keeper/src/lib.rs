//! The keeper: a small process of its own that starts and owns every server that the daemon speaks to over stdio.
//!
//! It knows `mux-process` and nothing of MCP: other daemons could use it for their child processes. It starts servers
//! only; workers are started by the daemon itself.
//!
//! The daemon cannot promise to end its children itself, because nothing runs in it after SIGKILL. On Linux it
//! therefore starts `muxd keeper`, which has no threads, is the subreaper of every server tree, passes the ends of
//! their pipes to the daemon, and ends the trees when the daemon's end of their common socket closes. Above the keeper
//! is its guard, forked from it before it has a child: the next subreaper, which ends what a killed keeper leaves. The
//! next keeper ends what outlives all three. Elsewhere `direct_children` replaces it, which promises less (process groups only).
//!
//! - The daemon's side is [`KeeperProcess`] (`keeper_handle`) and [`KeptChild`] (`kept_child`). `keeper_owner` is the task that owns the keeper
//!   process and its table of children, `keeper_link` its end of the socket, `sweep_dead_keeper` ends what a killed keeper owned, `program_lookup`
//!   searches `PATH`, `error` says what went wrong.
//! - The keeper process is [`run_keeper`] (`keeper_process`): one thread, one loop over its socket, its signals (`signals`) and
//!   its clock. `daemon_socket` is its end of the socket, `launch_child` one child from request to exec, `child_entry` a child in the
//!   table, `process_trees` how trees end, `process_table` who descends from whom (read from `/proc`), `keeper_lock` the wait for the
//!   previous keeper, `daemons` the daemons that it serves (one, or two at an upgrade), `orphans` what the last keeper
//!   of this home left, `keeper_guard` its parent process.
//! - What they say to each other is `wire`; `descriptor_passing` moves bytes and descriptors through the socket.
//!
//! Invariants:
//!
//! - Every child of the daemon, with its whole tree, is gone 2 s after the daemon, however the daemon died, unless
//!   keeper and guard die in the same instant: then with the next daemon (Linux; elsewhere process groups only).
//! - A child inherits nothing but its three pipes, the environment of its request, and the limits that muxd was started
//!   with. The daemon, the keeper and its guard are not dumpable: no process of the user can read their memory
//!   (`mux_process::core_dumps`).

mod error;
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
#[cfg(target_os = "linux")]
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

// Built for tests everywhere, so that it cannot rot on the platform that most of us work on.
#[cfg(any(not(target_os = "linux"), test))]
mod direct_children;

#[cfg(not(target_os = "linux"))]
pub use direct_children::run_keeper;
pub use error::{KeeperError, SpawnError};
pub use keeper_handle::Keeper;
#[cfg(target_os = "linux")]
pub use keeper_handle::KeeperOffer;
#[cfg(target_os = "linux")]
pub use keeper_process::run_keeper;
pub use kept_child::{ChildExit, KeptChild, SpawnSpec};
