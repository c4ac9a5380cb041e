//! `[metrics]`, as the user wrote it.

use schemars::JsonSchema;
use serde::Deserialize;

/// `[metrics]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsEntry {
    /// Address for a Prometheus scraper: a loopback address (`127.0.0.1:PORT`, `[::1]:PORT`, `localhost:PORT`) with a
    /// port other than 0.
    #[schemars(extend("x-default" = "no port"))]
    pub listen: Option<String>,
}
