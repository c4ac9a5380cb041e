//! `[sandbox]` and `sandbox = { … }` of a server, as the user wrote them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    choices::SandboxMode,
    sandbox_network::SandboxNetwork,
    values::{Bytes, Count},
};

const MIB: u64 = 1 << 20;

/// `sandbox.processes`
pub type ProcessCount = Count<8, 65_536, 256>;

/// `[sandbox]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxDefaultsEntry {
    /// For servers whose entry has no `sandbox`: `enforce` starts them in a sandbox that grants only what every program
    /// needs. `warn` starts them without a sandbox, and `mux doctor` lists them. `off` starts them without a sandbox.
    pub mode: SandboxMode,
}

/// `sandbox = { … }` of a server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxEntry {
    /// Files and directories that the server may read, in addition to its own program and the system's files. A
    /// relative path starts at your home.
    pub read: Vec<String>,
    /// Files and directories that the server may read and change.
    pub write: Vec<String>,
    /// Hosts that the server may reach: none, any, or a list of `host` and `host:port`, where `*.example.com` means
    /// every host below that domain.
    pub network: SandboxNetwork,
    /// Memory of all the server's processes together. If they need more, muxd ends the server.
    #[schemars(extend("x-default" = "unlimited"))]
    pub memory: Option<Bytes<{ 16 * MIB }, { MIB * MIB }>>,
    /// Processes and threads at the same time, including child processes.
    pub processes: Option<ProcessCount>,
}
