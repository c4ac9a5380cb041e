//! From the lock to its release: start, readiness, idleness, drain.
//!
//! lock → clear the stale socket → bind → report ready → serve → stop accepting → drain → close
//! upstreams → unlink → release.
//!
//! Invariant: whoever serves holds the [`InstanceLock`], and readiness is reported, never polled.

mod activity;
mod lock;
mod shutdown;
mod startup;

pub use self::{
    activity::{Activity, Present},
    lock::{InstanceLock, LockError, StartupLock},
    shutdown::Shutdown,
    startup::Reporter,
};
