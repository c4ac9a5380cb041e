//! The keeper: a small process of its own that starts and owns every server that the daemon speaks
//! to over stdio.
//!
//! Invariant: every child of the daemon, with its whole tree, is gone 2 s after the daemon is,
//! however the daemon died.  The daemon cannot promise that itself (nothing runs in it after
//! SIGKILL), so on Linux it starts `muxd keeper`, which has no threads, is the subreaper of every
//! server tree, passes the ends of their pipes to the daemon, and ends the trees when the daemon's
//! end of their common socket closes.  Above the keeper stands its guard, which ends what a keeper
//! leaves that was killed itself; what is left of all three the next keeper ends.  Elsewhere `direct` stands in, which promises less.
//!
//! The daemon's side is [`Keeper`] and [`KeptChild`]; the keeper process is [`run_keeper`].  What
//! they say to each other stands in `wire`.
//!
//! The crate knows `mux-process` and nothing of MCP: others could use it to own the child processes of a daemon.

mod child;
mod error;
mod handle;
mod lookup;

#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod entry;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod lock;
#[cfg(target_os = "linux")]
mod masters;
#[cfg(target_os = "linux")]
mod owner;
#[cfg(target_os = "linux")]
pub mod passing;
#[cfg(target_os = "linux")]
mod process_table;
#[cfg(target_os = "linux")]
mod remains;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod sweep;
#[cfg(target_os = "linux")]
mod trees;
#[cfg(target_os = "linux")]
pub mod wire;

// Built for tests everywhere, so that it cannot rot on the platform that most of us work on.
#[cfg(any(not(target_os = "linux"), test))]
mod direct;

pub use child::{ChildExit, KeptChild, SpawnSpec};
#[cfg(not(target_os = "linux"))]
pub use direct::run_keeper;
pub use error::{KeeperError, SpawnError};
pub use handle::Keeper;
#[cfg(target_os = "linux")]
pub use handle::KeeperOffer;
#[cfg(target_os = "linux")]
pub use serve::run_keeper;
