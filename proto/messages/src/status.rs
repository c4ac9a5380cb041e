//! The state of the daemon and its servers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Degraded, SourceInfo, Started, TelemetryStatus, TokenStatus};

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerInfo {
    pub name: String,
    pub state: ServerState,
    /// Why the server is in that state, where that is not obvious.
    pub reason: Option<String>,
    /// More about the reason, shown on request: the directories in which a missing program was searched.
    pub detail: Option<String>,
    /// The cause, where the remedy depends on it.
    pub cause: Option<ServerCause>,
    /// True if the server has written a log: `mux servers logs NAME`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_log: bool,
    /// The command line, without its environment.
    pub command: String,
    pub pid: Option<u32>,
    /// The number of known tools, once a session was open.
    pub tools: Option<usize>,
    /// The server's name and version as it reports them.
    pub identity: Option<String>,
    pub protocol: Option<String>,
    /// The duration of the last start, from starting the process to the tool list.
    pub start_ms: Option<u64>,
    /// The number of sessions opened since the daemon started.
    pub starts: u64,
    pub calls: u64,
    pub in_flight: u64,
    /// `stdio`, `streamable-http` or `sse`, once known.
    pub transport: Option<String>,
    /// The scope that shares one session: `user`, `workspace`, `client` or `run`.
    pub share: Option<String>,
    /// Why sessions are shared that way, if the configuration does not say.
    pub share_reason: Option<String>,
    /// The sessions, for a server that may have several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionInfo>,
    /// The state of the login, if the server requires one.
    pub auth: Option<AuthState>,
    /// The `account` of its entry, which tells logins at one address apart.
    pub account: Option<String>,
    /// Who has signed in, according to the authorization server.
    pub who: Option<String>,
    /// Milliseconds until the next attempt, while the server is backing off.
    pub retry_in_ms: Option<u64>,
    /// Warnings for the user, such as tools that have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ServerWarning>,
    /// The project whose file defines it, for a server from a project.
    pub project: Option<PathBuf>,
    /// For a source: an API that the daemon calls itself.
    pub source: Option<SourceInfo>,
    /// For a server that the daemon starts: the files and hosts that it may reach.
    pub sandbox: Option<SandboxInfo>,
}

/// A warning about a server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerWarning {
    pub text: String,
    /// The fix. Absent if there is nothing to do: muxd repaired a message that deviates from MCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// The sandbox of a server.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SandboxInfo {
    pub state: SandboxState,
    /// The active layers, after this daemon has started the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// The paths that it may read, in addition to its own program and the system's files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathBuf>,
    /// `none`, `any`, or the hosts that it may reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The accesses that were denied lately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SandboxState {
    /// The server runs in a sandbox.
    On,
    /// The server has all of the user's rights, as configured.
    Off,
    /// The server has all of the user's rights, because no sandbox is configured.
    #[default]
    Bare,
    /// A value that only newer builds know.
    #[serde(other)]
    Other,
}

/// One session of a server that has several.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionInfo {
    /// The owner of the session: a directory, a client, a run.
    pub of: String,
    pub state: ServerState,
    pub reason: Option<String>,
    pub pid: Option<u32>,
}

/// Why a server cannot be used.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ServerCause {
    /// The program of its command does not exist.
    MissingProgram,
    /// Its entry refers to a variable that is not set.
    UnsetVariable { name: String },
    /// Its entry refers to a secret that is not set.
    UnsetSecret { name: String },
    /// Its entry refers to a secret that is set, but that its store did not return.
    UnreadableSecret { name: String },
    /// A value that only newer builds know.
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AuthState {
    /// No valid login exists: `mux servers login NAME`.
    Required,
    SignedIn,
}

/// A server's state, from the most to the least usable. Of several sessions, the best one counts.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Deserialize,
    Eq,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
    strum::Display,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ServerState {
    Ready,
    /// The server answers, but has a problem.
    Degraded,
    Starting,
    /// Not started yet, or closed.
    #[default]
    Cold,
    /// The last start failed. The next call tries again.
    Failed,
    /// The server could not be started. The next attempt follows after a delay.
    BackingOff,
    /// The configuration of this server cannot be used.
    Broken,
    /// The configuration disables it: `mux servers enable NAME`.
    Disabled,
}

/// A persistent problem.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// The subject: `config`, `server`, `approvals`, `metrics`, `client`, `pins`, `workers`, `cache`, `audit` or
    /// `credentials`. Newer daemons may send others.
    pub code: String,
    /// The server or source that cannot be used, for `server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub message: String,
    #[serde(default)]
    pub fix: String,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    pub build: String,
    pub contract: u32,
    pub pid: u32,
    /// `v8` or `quickjs`. Unknown until a worker has started.
    pub engine: Option<String>,
    /// The engine's own version, if it reports one.
    pub engine_version: Option<String>,
    pub uptime_ms: u64,
    /// The resident memory of the daemon in bytes, where the system reports it.
    pub rss_bytes: Option<u64>,
    pub clients: usize,
    /// The agents among the clients. Left out for clients that act for an agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<ConnectedAgent>,
    pub workers: WorkerStatus,
    pub checker: CheckerStatus,
    pub runs: RunCounts,
    pub servers: Vec<ServerInfo>,
    pub config: PathBuf,
    pub socket: PathBuf,
    pub log: PathBuf,
    /// Persistent problems: a config that does not parse, workers that do not start.
    pub problems: Vec<Problem>,
    /// The features that the daemon's machine currently prevents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<Degraded>,
    pub tokens: Option<TokenStatus>,
    pub started: Option<Started>,
    pub telemetry: Option<TelemetryStatus>,
}

/// An agent that is connected, as it describes itself.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectedAgent {
    /// The name and the version of its program.
    pub name: String,
    pub version: String,
    /// The name of its settings in `[agents.NAME]`.
    pub agent: Option<String>,
    /// The profile by which output is adapted to it.
    pub profile: Option<String>,
    pub workspace: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerStatus {
    pub ready: usize,
    pub busy: usize,
    pub starting: usize,
    pub waiting: usize,
    /// The sandbox layers of a worker besides its engine, by name. Empty until a worker has started, and on systems
    /// without sandbox layers.
    pub layers: Vec<String>,
    /// True if isolates are built from a snapshot.
    pub snapshot: bool,
}

/// The type checker.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckerStatus {
    /// The path of the compiler, once found.
    pub compiler: Option<PathBuf>,
    pub version: Option<String>,
    pub pid: Option<u32>,
    /// The compiler's resident memory in bytes.
    pub rss_bytes: Option<u64>,
    /// The number of programs checked since the daemon started.
    pub checks: u64,
    /// The number of checks whose verdict was cached.
    pub cached: u64,
    /// Why programs run unchecked.
    pub problem: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCounts {
    pub running: usize,
    pub succeeded: u64,
    pub failed: u64,
}
