//! `[telemetry]`, as the user wrote it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `[telemetry]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryEntry {
    /// `false` sends no spans, whatever the environment says.
    pub enabled: Option<bool>,
    /// Of a collector that speaks OTLP over HTTP, such as `"http://127.0.0.1:4318"`.
    pub endpoint: Option<String>,
    pub headers: BTreeMap<String, String>,
    /// `service.name`.
    pub service: Option<String>,
}

impl TelemetryEntry {
    /// What is expanded.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let texts = self.endpoint.iter().chain(self.headers.values());
        texts.map(String::as_str)
    }
}
