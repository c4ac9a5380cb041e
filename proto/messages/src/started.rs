//! The program that started the daemon, and the service manager that supervises it.

use serde::{Deserialize, Serialize};

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Started {
    pub by: StartedBy,
    /// The systemd unit, or the launchd label.
    pub service: Option<String>,
    /// True if the listening socket belongs to a service manager, which starts a daemon for every client that
    /// connects.
    pub socket_passed: bool,
    /// The watchdog timeout: a daemon that does not answer for this long is killed and restarted.
    pub watchdog_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartedBy {
    /// A client that needed a daemon.
    Client,
    /// A user who ran `muxd`.
    Hand,
    Systemd,
    Launchd,
    /// A value that only newer builds know.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(untagged, with = "String"))]
    Other,
}
