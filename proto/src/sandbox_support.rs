//! The output of `muxd sandbox-support`: the sandbox layers of this machine, for `mux doctor`. The program tries the
//! layers as the daemon does, and needs no daemon.

use serde::{Deserialize, Serialize};

/// The argument that asks `muxd` for it.
pub const SANDBOX_SUPPORT: &str = "sandbox-support";

/// One line of JSON on standard output.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SandboxSupportReport {
    /// The layers around a server in a sandbox, the strongest first.
    pub layers: Vec<String>,
    /// True if a server whose entry has `sandbox = {}` starts.
    pub has_sandboxes: bool,
    pub notes: Vec<SandboxSupportNote>,
}

/// A layer that is missing, or a condition that weakens one.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SandboxSupportNote {
    pub message: String,
    /// The fix for the user.
    pub fix: String,
    /// True if a layer is missing or weaker. If false, another layer replaces it.
    pub is_weaker: bool,
}
