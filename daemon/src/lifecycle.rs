//! A daemon's files, locks, readiness, service managers and shutdown.
//!
//! A daemon's life: lock → remove the stale socket → bind (or use the passed socket) → report ready → serve → stop
//! accepting → drain → close sessions → unlink the socket (unless it was passed) → release.
//!
//! Invariant: the daemon that serves holds the [`InstanceLock`], and readiness is reported, never polled.

mod daemon_setup;
#[cfg(target_os = "macos")]
mod launchd;
mod lock;
#[cfg(not(target_os = "linux"))]
mod no_service_manager;
mod passed_socket;
mod predecessor_runs;
mod retire_request;
mod service_manager;
mod shutdown;
mod startup_reporter;
#[cfg(target_os = "linux")]
mod systemd;
mod watchdog;

pub use self::{
    daemon_setup::DaemonSetup,
    lock::{InstanceLock, LockError, StartupLock},
    passed_socket::{PassedSocket, PassedSocketError, is_kept},
    predecessor_runs::PredecessorRuns,
    retire_request::ask_to_go,
    service_manager::{InheritedService, ServiceManager, StartOrigin},
    shutdown::Shutdown,
    startup_reporter::StartupReporter,
    watchdog::run_watchdog,
};
