//! The export of the daemon's spans.

use serde::{Deserialize, Serialize};

/// The state of the OpenTelemetry exporter, without which a daemon may be built.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TelemetryStatus {
    pub built_in: bool,
    /// The collector that the configuration or the user's environment names.
    pub endpoint: Option<String>,
    /// The number of spans that the collector has accepted.
    pub sent: u64,
    /// The number of spans that did not fit into the queue, or that the collector has not accepted.
    pub lost: u64,
    /// Why no spans can be sent, or the last ones were not.
    pub problem: Option<String>,
}
