//! How a client starts a daemon, and what it hears back.
//!
//! The client holds the startup lock ([`crate::endpoint::Dirs::startup_lock`]), finds that nobody
//! answers, and runs `muxd child` with the lock as standard input and a pipe as standard output.
//! The daemon writes one [`Report`] as a line of JSON to it. Whoever comes meanwhile waits for the
//! lock, which the kernel releases however both of them end. A client whose language cannot lock a file
//! hands it over as it is: the daemon then takes the lock itself, and says `already_running` if it came late.

use serde::{Deserialize, Serialize};

/// The argument that tells `muxd` about the two descriptors.
pub const CHILD: &str = "child";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// It serves.
    Ready { pid: u32 },
    /// Another one does.
    AlreadyRunning {},
    /// It cannot, and why.
    Failed { message: String },
}
