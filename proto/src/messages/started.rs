//! Who started the daemon, and who looks after it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Started {
    pub by: StartedBy,
    /// The unit of systemd, or the label of launchd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The listening socket is a service manager's, which starts a daemon for whoever connects.
    #[serde(default)]
    pub socket_passed: bool,
    /// A daemon that does not answer for so long is ended and started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StartedBy {
    /// The first one that needed it.
    Client,
    /// Somebody who ran `muxd`.
    Hand,
    Systemd,
    Launchd,
    /// Of a newer daemon.
    #[serde(other)]
    Other,
}
