//! The daemon's metrics.

use serde::{Deserialize, Serialize};

/// All metrics of the daemon.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricsText {
    /// In Prometheus' text exposition format, version 0.0.4.
    pub text: String,
}
