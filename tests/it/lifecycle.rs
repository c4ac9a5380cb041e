//! The lifecycle of a daemon: it starts once per home, drains or stops, and leaves no process behind.
//!
//! Invariant: a client gets the right answer or an error that says what is known, and no process outlives its daemon.

mod clients;
mod cold;
mod drain;
mod files;
mod killed;
mod leaving;
#[cfg(target_os = "linux")]
mod undumpable;

use std::time::Duration;

/// The timeout for events that the daemon guarantees within 2 s, because the machine may be busy.
const PROMISE: Duration = Duration::from_secs(5);
/// The timeout for ends that have no guaranteed time and should be immediate.
const SOON: Duration = Duration::from_secs(20);
