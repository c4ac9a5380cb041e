//! `[metrics]`, as the user wrote it.

use serde::Deserialize;

/// `[metrics]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsEntry {
    /// Where a Prometheus may read them, such as `"127.0.0.1:9464"`; nowhere without.
    pub listen: Option<String>,
}
