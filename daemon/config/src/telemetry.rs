//! `[telemetry]`, as the user wrote it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// `[telemetry]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryEntry {
    /// `false` sends nothing, regardless of environment variables.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Collector that accepts OTLP over HTTP. muxd adds `/v1/traces`.
    #[schemars(extend("x-default" = "the [OTEL variables](environment.md#variables-of-your-login-shell)"))]
    pub endpoint: Option<String>,
    /// Sent to `endpoint`.
    pub headers: BTreeMap<String, String>,
    /// `service.name`.
    #[schemars(extend("x-default" = "`OTEL_SERVICE_NAME`, then `\"muxd\"`"))]
    pub service: Option<String>,
}

impl TelemetryEntry {
    /// The values in which references are expanded.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let texts = self.endpoint.iter().chain(self.headers.values());
        texts.map(String::as_str)
    }
}
