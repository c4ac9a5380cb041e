//! Handing over from the running daemon to another program.
//!
//! Invariant: these messages change only by added fields with a default: the client that upgrades a daemon is of
//! another build, and may use another contract.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Starts a program and hands over to it. Runs end in the old daemon.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UpgradeRequest {
    /// The absolute path of the `muxd` to start.
    pub binary: PathBuf,
    /// The contract that the client speaks, and the new daemon must speak.
    pub contract: u32,
}

/// The new daemon serves, and accepts all connections from now on.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Upgraded {
    pub pid: u32,
    pub build: String,
    pub contract: u32,
    /// Milliseconds from the request until the new daemon served.
    pub ms: u64,
}
