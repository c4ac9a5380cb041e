//! How a client starts a daemon, and the report that it gets back.
//!
//! The client takes the startup lock ([`crate::endpoint::Dirs::startup_lock`]), finds that no daemon answers, and runs
//! `muxd child` with the lock as standard input and a pipe as standard output. The daemon writes one [`Report`] as a
//! line of JSON to it. Meanwhile, other clients wait for the lock, which the kernel releases however both processes
//! end. A client whose language cannot lock a file passes it unlocked, and so does every client on Windows, where a
//! lock is not inherited. The daemon then takes the lock itself, and reports `already_running` if it came late.

use serde::{Deserialize, Serialize};

/// The argument that tells `muxd` about the two descriptors.
pub const CHILD: &str = "child";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The daemon serves.
    Ready { pid: u32 },
    /// Another daemon serves already.
    AlreadyRunning {},
    /// The daemon could not start, and why.
    Failed { message: String },
}
