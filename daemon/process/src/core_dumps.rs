//! Keeps other processes from reading the memory of muxd, which contains tokens and secrets.
//!
//! The daemon, the keeper and its guard are not dumpable: a crash leaves no core file, and other processes of the same
//! user (such as an MCP server) cannot attach to them or read their `/proc/PID/{mem,environ,fd,maps}`, even where Yama
//! allows it. World-readable files stay readable (`stat`, `status`, `cmdline`, `limits`, `task`), and a process can
//! always inspect itself (`/proc/self/fd`, `/proc/self/exe`). A process that may trace all others (root) is not kept
//! out.
//!
//! Other systems than Linux have no such setting: there, only core files are prevented, and on Windows crash reports.
//!
//! Invariant: servers inherit the core limit that muxd itself was started with. Their exec makes them dumpable again.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{forbid_core_dumps, restore_core_limit, restore_for_child};
#[cfg(windows)]
pub use windows::forbid_core_dumps;
