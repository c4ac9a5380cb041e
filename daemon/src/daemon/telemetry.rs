//! Sets the collector to which spans are sent.

use std::time::Duration;

use super::Daemon;
use mux_http::http_client;
use mux_settings::{TelemetrySettings, UnusableEndpoint};
use mux_telemetry::trace::CollectorEndpoint;

/// How long a request to the collector may take.
const OTLP_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The destination of spans as resolved from the configuration.
pub(super) type WantedTelemetry = Option<Result<TelemetrySettings, UnusableEndpoint>>;

impl Daemon {
    /// Switches to another collector, if the destination has changed.
    pub(super) fn send_spans(&self, known: &mut WantedTelemetry, wanted: &WantedTelemetry) {
        if known == wanted {
            return;
        }
        known.clone_from(wanted);
        let to = wanted.clone().map(|to| {
            let to = to?;
            let client = http_client::client_builder(&to.network, None).and_then(|builder| {
                let client = builder.timeout(OTLP_REQUEST_TIMEOUT).build();
                client.map_err(|error| error.without_url().to_string())
            });
            match client {
                Ok(client) => Ok(CollectorEndpoint {
                    url: to.url,
                    shown: to.shown,
                    headers: to.headers,
                    resource: to.resource,
                    client,
                }),
                Err(problem) => Err((to.shown, problem)),
            }
        });
        self.gateway.tracer().send_to(to);
    }
}
