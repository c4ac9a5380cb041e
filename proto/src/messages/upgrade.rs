//! Another program takes over from the daemon that runs.
//!
//! Invariant: these messages only grow, by fields with a default: whoever upgrades a daemon is of another build, and
//! may be of another contract.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Starts a program and hands everything over to it. What runs ends where it is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct UpgradeRequest {
    /// The `muxd` to start; absolute.
    pub binary: PathBuf,
    /// What the client speaks, and the new daemon must speak.
    pub contract: u32,
}

/// The new daemon serves. Whoever connects from now on is connected to it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Upgraded {
    pub pid: u32,
    pub build: String,
    pub contract: u32,
    /// From the request to the moment at which the new daemon served.
    pub ms: u64,
}
