//! The messages of the contract: plain data with names that speak for themselves.

mod approvals;
mod discovery;
mod login;
mod notices;
mod offers;
mod pins;
mod policy;
mod programs;
mod projects;
mod runs;
mod secrets;
mod settings;
mod sources;

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::approvals::*;
pub use self::secrets::*;
pub use self::sources::*;
pub use self::{
    discovery::*, login::*, notices::*, offers::*, pins::*, programs::*, projects::*, runs::*,
};
pub use self::{policy::*, settings::*};
use crate::Error;

/// First message of a connection.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Hello {
    pub contract: u32,
    pub build: String,
    pub client: ClientInfo,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The directory in which the client works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
    #[serde(default)]
    pub features: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ClientInfo {
    pub name: String,
    pub version: String,
}

/// The daemon's answer to [`Hello`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Welcome {
    pub contract: u32,
    pub build: String,
    pub pid: u32,
    #[serde(default)]
    pub features: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CheckRequest {
    pub source: String,
}

/// Everything that is wrong with a program; empty if nothing is.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Diagnostics {
    /// Any of them keeps it from running.
    pub errors: Vec<Error>,
    /// What may be a mistake, and may not.
    #[serde(default)]
    pub warnings: Vec<Error>,
    /// Why its types were not looked at, if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CallRequest {
    /// `server.tool`.
    pub path: String,
    /// An object.
    #[serde(default)]
    pub arguments: Value,
    /// Arguments that somebody typed: names with text, which the daemon reads as the tool's schema
    /// wants it. A name may stand there several times where a list is wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<(String, String)>,
    /// The whole `CallToolResult` instead of its value.
    #[serde(default)]
    pub raw: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The client's own name for this call, under which notices speak of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ToolsRequest {
    /// Words that must all appear in the path or the description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// With the JSON schemas of each tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub schemas: bool,
    /// Only those that are offered as ordinary tools beside programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// With each tool's whole definition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub definitions: bool,
    /// How long to wait for servers whose tools nobody knows yet; without it, until they are ready or
    /// have failed. Those that are not ready then are among the missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolList {
    pub tools: Vec<ToolInfo>,
    /// How many match, whatever the limit.
    pub total: usize,
    /// Servers whose tools are not in the list, each with the reason.
    #[serde(default)]
    pub missing: Vec<MissingServer>,
    /// What is unusual about a name: collisions, spellings.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Servers that are not connected, and whose tools are those of their last session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct MissingServer {
    pub server: String,
    pub error: Error,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ToolInfo {
    /// `server.tool` as a program writes it after `mux.`.
    pub path: String,
    pub server: String,
    /// As the server spells it.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `files.read(args: {…}): Promise<…>`.
    pub signature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Of how many calls the result's type was learned, for a tool that declares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_calls: Option<u64>,
    /// Offered as an ordinary tool beside programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// It is not what it was when it was first trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// MCP's `Tool`, whole, as the server gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TypesRequest {
    /// `server` or `server.tool`; everything if empty.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// Asks for the declarations of everything as soon as they are others than those that the client has.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct WatchTypesRequest {
    /// The name of those that the client has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    pub wait_ms: u64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TypesPage {
    /// Names the text by its content.
    pub name: String,
    /// The `.d.ts`; absent if the client has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Whose results to forget.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ForgetTypesRequest {
    /// `server` or `server.tool`; everything if empty.
    #[serde(default)]
    pub paths: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Forgotten {
    /// Of so many tools a type had been learned.
    pub tools: usize,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ServerInfo {
    pub name: String,
    pub state: ServerState,
    /// Why it is in that state, where that is not obvious.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command line, without its environment.
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Known tools, once a session was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// What the server calls itself, with its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// How long the last start took, from the process to the list of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ms: Option<u64>,
    /// Sessions opened since the daemon started.
    pub starts: u64,
    pub calls: u64,
    pub in_flight: u64,
    /// `stdio`, `streamable-http` or `sse`, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Who shares one session: `user`, `workspace`, `client` or `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// Why, where nobody has said so in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_reason: Option<String>,
    /// One for each that shares, where there may be several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionInfo>,
    /// Where the server wants its users to sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<AuthState>,
    /// Until it is tried again, while it is backing off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    /// What a user should look at, such as tools that are not what they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The project whose file defines it, for a server that is not the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// For a source: an API that the daemon calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceInfo>,
}

/// One session of a server that has several.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SessionInfo {
    /// Whose it is: a directory, a client, a run.
    pub of: String,
    pub state: ServerState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthState {
    /// Nobody has signed in, or not any more: `mux servers login NAME`.
    Required,
    SignedIn,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Not started yet, or closed.
    Cold,
    Starting,
    Ready,
    /// It answers, and something is wrong with it.
    Degraded,
    /// It could not be started, and is tried again after a while.
    BackingOff,
    /// The last start failed; the next call tries again.
    Failed,
    /// The configuration of this server cannot be used.
    Broken,
    /// The configuration has it switched off: `mux servers enable NAME`.
    Disabled,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Status {
    pub build: String,
    pub contract: u32,
    pub pid: u32,
    /// `v8` or `quickjs`; unknown until a worker has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    pub uptime_ms: u64,
    /// Resident memory of the daemon in bytes, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    pub clients: usize,
    pub workers: WorkerStatus,
    #[serde(default)]
    pub checker: CheckerStatus,
    pub runs: RunCounts,
    pub servers: Vec<ServerInfo>,
    pub config: PathBuf,
    pub socket: PathBuf,
    pub log: PathBuf,
    /// What is wrong and goes on being wrong: a config that does not parse, workers that do not start.
    #[serde(default)]
    pub problems: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenStatus>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct WorkerStatus {
    pub ready: usize,
    pub busy: usize,
    pub starting: usize,
    pub waiting: usize,
    /// What holds a worker back beside its engine, by name; empty until one has started, and on systems
    /// that have nothing of the kind.
    #[serde(default)]
    pub layers: Vec<String>,
    /// Whether isolates are built from a snapshot.
    #[serde(default)]
    pub snapshot: bool,
}

/// The type checker.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CheckerStatus {
    /// The compiler that is used, once it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its resident memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// Programs looked at since the daemon started.
    #[serde(default)]
    pub checks: u64,
    /// Those of them whose verdict was known already.
    #[serde(default)]
    pub cached: u64,
    /// Why programs run unchecked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct RunCounts {
    pub running: usize,
    pub succeeded: u64,
    pub failed: u64,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReloadReport {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// Their definition changed: they restart with the next call.
    pub changed: Vec<String>,
    pub unchanged: Vec<String>,
    pub problems: Vec<String>,
    /// Of each that changed, the keys that differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct StopRequest {
    /// Cancel what runs instead of waiting for it.
    #[serde(default)]
    pub now: bool,
}
