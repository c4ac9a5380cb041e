//! Where the daemon's spans go.

use serde::{Deserialize, Serialize};

/// Of OpenTelemetry, which a daemon may be built without.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TelemetryStatus {
    pub built_in: bool,
    /// The collector that the configuration or the user's environment names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Spans that it has taken.
    #[serde(default)]
    pub sent: u64,
    /// Spans that had no room while they waited, or that it has not taken.
    #[serde(default)]
    pub lost: u64,
    /// Why none can be sent, or the last ones were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
