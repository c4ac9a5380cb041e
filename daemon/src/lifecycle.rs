//! From the lock to its release: start, readiness, idleness, drain.
//!
//! lock → clear the stale socket → bind (or take the one that was passed) → report ready → serve → stop
//! accepting → drain → close upstreams → unlink (unless it was passed) → release.
//!
//! Invariant: whoever serves holds the [`InstanceLock`], and readiness is reported, never polled.

mod former;
mod lock;
mod passed;
mod predecessor;
mod service;
mod shutdown;
mod startup;
#[cfg(target_os = "linux")]
mod systemd;
mod watchdog;

pub use self::{
    former::Former,
    lock::{InstanceLock, LockError, StartupLock},
    passed::{Passed, PassedError, is_kept},
    predecessor::ask_to_go,
    service::{Legacy, Service, Starter},
    shutdown::Shutdown,
    startup::Reporter,
    watchdog::report,
};
