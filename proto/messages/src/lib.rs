//! The messages of the contract between `muxd` and its clients: plain data, one module for each subject.
//!
//! The daemon's crates use these types where they have the same members, so that each thing has one type. `mux-proto`
//! adds the methods, the socket and its paths.
//!
//! [`Error`] is the error type of clients, [`Kind`] the kind of a failure on all layers, and [`JsonText`] a value that
//! is not parsed on the way. The feature `schema` derives JSON schemas.
//!
//! Invariant: this crate depends on no other crate of the workspace, and does nothing: no input, no output, no tasks.

mod approvals;
mod degraded;
mod discovery;
mod error;
mod journal;
mod json_text;
mod kind;
mod login;
mod metrics;
mod notices;
mod offers;
mod pins;
mod policy;
mod programs;
mod projects;
mod runs;
mod sandboxes;
mod secrets;
mod settings;
mod sources;
mod started;
mod status;
mod telemetry;
mod tools;
mod upgrade;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::approvals::*;
pub use self::degraded::*;
pub use self::error::{AnyKind, Error, Result};
pub use self::journal::*;
pub use self::json_text::JsonText;
pub use self::kind::Kind;
pub use self::metrics::*;
pub use self::sandboxes::*;
pub use self::secrets::*;
pub use self::sources::*;
pub use self::started::*;
pub use self::telemetry::*;
pub use self::upgrade::*;
pub use self::{
    discovery::*, login::*, notices::*, offers::*, pins::*, programs::*, projects::*, runs::*,
};
pub use self::{policy::*, settings::*};
pub use self::{status::*, tools::*};

/// A duration as messages have it, in milliseconds.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// First message of a connection.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    pub contract: u32,
    pub build: String,
    pub client: ClientInfo,
    pub agent: Option<String>,
    /// The directory in which the client works.
    pub workspace: Option<PathBuf>,
    /// The requests of this connection come from an agent, regardless of the client's name. As with a connection that
    /// names an `agent`, only runs of the same client and agent are found, and error hints name tools, not commands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_agent: bool,
    /// The profile by which the client adapts its output to an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(default)]
    pub features: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientInfo {
    pub name: String,
    pub version: String,
}

/// The daemon's answer to [`Hello`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Welcome {
    pub contract: u32,
    pub build: String,
    pub pid: u32,
    #[serde(default)]
    pub features: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckRequest {
    pub source: String,
}

/// The problems of a program. Empty if there are none.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnostics {
    /// Errors, any of which prevents a run.
    pub errors: Vec<Error>,
    /// Possible errors.
    pub warnings: Vec<Error>,
    /// Why the types were not checked, if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallRequest {
    /// `server.tool`.
    pub path: String,
    /// An object.
    #[serde(default)]
    pub arguments: JsonText,
    /// Arguments as typed on a command line: names with strings, which the daemon converts as the tool's schema
    /// requires. A name may occur several times where a list is expected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<(String, String)>,
    /// Whether to reject arguments that the tool's schema does not declare, as a program's type check does. A schema
    /// with `additionalProperties` declares them all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declared_only: bool,
    /// Whether to return the whole `CallToolResult` instead of its value.
    #[serde(default)]
    pub raw: bool,
    /// If the whole result is too long for a message, it is stored without content that repeats its structured content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lean: bool,
    pub timeout_ms: Option<u64>,
    /// The client's own name for this call, by which notices refer to it.
    pub token: Option<String>,
    /// The W3C trace context of the caller, as in [`RunRequest`].
    pub traceparent: Option<String>,
    pub tracestate: Option<String>,
    /// `_meta` of the request that the server gets, without keys that muxd sets itself: `progressToken`, `traceparent`,
    /// `tracestate`, `muxd/…` and `io.modelcontextprotocol/…`. At most 64 KiB.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReloadReport {
    /// The servers and sources that this reload added, by name.
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// Servers whose definition changed: they restart with the next call.
    pub changed: Vec<String>,
    pub unchanged: Vec<String>,
    pub problems: Vec<String>,
    /// For each changed server, the keys that differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, Vec<String>>,
    /// The names above that belong to sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The changes of this reload besides servers and sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionChange>,
    /// The last load that was not a `reload`, such as that of a file that was saved, if it has changed anything and no
    /// `reload` has reported it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Box<EarlierLoad>>,
}

/// The differences in one section of the configuration.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionChange {
    /// Such as `policy`, `limits`, `agents`, `telemetry` or `secrets`.
    pub section: String,
    /// Names, or rules as strings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Keys, or `order` if the rules only have a new order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

/// An earlier load.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlierLoad {
    pub age_ms: u64,
    /// The changes of that load, without unchanged servers and problems.
    pub report: ReloadReport,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopRequest {
    /// Whether to cancel running programs instead of waiting for them.
    #[serde(default)]
    pub now: bool,
}
