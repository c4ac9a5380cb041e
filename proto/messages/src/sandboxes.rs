//! Sandboxes of servers, in detail.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::SandboxInfo;

/// Everything that is known about one server's sandbox.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SandboxProfile {
    pub server: String,
    /// The settings in its entry, and the accesses that it was denied.
    pub sandbox: SandboxInfo,
    /// In bytes, of all its processes together.
    pub memory: Option<u64>,
    /// The maximum number of processes and threads.
    pub processes: Option<u32>,
    /// The layers that this machine enforces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enforceable: Vec<String>,
    /// Why the sandbox is not available here. For a server without a sandbox: why it could not have
    /// one.
    pub problem: Option<String>,
    /// Files of the system that a sandbox of this server contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<PathBuf>,
    /// Its program, with the package and the interpreter of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<PathBuf>,
    /// Private directories that it may write to, such as for the packages that it fetches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<PathBuf>,
    /// Its home directory is empty at the start, and deleted when the server ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty_home: bool,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuggestSandboxRequest {
    pub server: String,
    /// For how many milliseconds at most its sessions are observed.
    pub observe_ms: u64,
}

/// The sandbox in which the observed sessions of a server would have worked.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SandboxSuggestion {
    pub server: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathBuf>,
    /// The hosts that it requested, each with its port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The server needs the whole network, because it connects without a proxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_network: bool,
    /// The grants that were left out, and the decisions left to the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// The argument with which `muxd` prints a [`SandboxSupportReport`]. It tries the layers as the daemon does, and needs no
/// daemon.
pub const SANDBOX_SUPPORT: &str = "sandbox-support";

/// The sandbox layers of this machine, for `mux doctor`: one line of JSON on standard output.
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
