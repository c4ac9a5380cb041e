//! The messages of the contract: plain data with names that speak for themselves.

mod approvals;
mod degraded;
mod discovery;
mod login;
mod metrics;
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
mod started;
mod status;
mod telemetry;
mod tools;
mod upgrade;

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::approvals::*;
pub use self::degraded::*;
pub use self::metrics::*;
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
    /// What is asked here is asked by an agent, whatever name the client has. As with a connection that names an `agent`,
    /// only runs of the same client and agent are found; and hints of errors name tools, no command line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_agent: bool,
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
    /// If the whole result is too long for a message, it is kept without content that says again what its structured
    /// content says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lean: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The client's own name for this call, under which notices speak of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// As that of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
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
