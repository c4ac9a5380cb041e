//! The life of a daemon: how it comes to be once, how it ends, and what it leaves behind.
//!
//! Invariant of all of it: a client gets its right answer or an error that says what is known, and
//! no process outlives its daemon.

mod clients;
mod cold;
mod drain;
mod files;
mod killed;
mod leaving;
mod undumpable;

use std::time::Duration;

/// What the daemon promises within 2 s is waited for this long: the machine may be busy.
const PROMISE: Duration = Duration::from_secs(5);
/// For an end that has no promise, and should come at once.
const SOON: Duration = Duration::from_secs(20);
