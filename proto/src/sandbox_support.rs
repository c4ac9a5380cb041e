//! What `muxd sandbox-support` prints: which layers of sandboxes this machine has, for `mux doctor`. The program tries
//! them as the daemon does, and needs no daemon.

use serde::{Deserialize, Serialize};

/// The argument that asks `muxd` for it.
pub const SANDBOX_SUPPORT: &str = "sandbox-support";

/// One line of JSON on standard output.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SandboxSupportReport {
    /// The layers around a server in a sandbox, the strongest first.
    pub layers: Vec<String>,
    /// Whether a server whose entry has `sandbox = {}` starts.
    pub has_sandboxes: bool,
    pub notes: Vec<SandboxSupportNote>,
}

/// A layer that is missing, or a condition that weakens one.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SandboxSupportNote {
    pub message: String,
    /// What a user can do about it.
    pub fix: String,
    /// A layer is missing, or holds less. Otherwise another one takes its place.
    pub is_weaker: bool,
}
