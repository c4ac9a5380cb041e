//! The export of the daemon's spans.

use serde::{Deserialize, Serialize};

/// The state of the OpenTelemetry exporter, without which a daemon may be built.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TelemetryStatus {
    pub built_in: bool,
    /// The collector that the configuration or the user's environment names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The number of spans that the collector has accepted.
    #[serde(default)]
    pub sent: u64,
    /// The number of spans that did not fit into the queue, or that the collector has not accepted.
    #[serde(default)]
    pub lost: u64,
    /// Why no spans can be sent, or the last ones were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
