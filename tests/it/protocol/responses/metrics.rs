//! Metrics.

use mux_proto::{MetricsText, service::MuxResponse};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let text = "# HELP muxd_clients Clients that are connected\n# TYPE muxd_clients gauge\nmuxd_clients 1\n";
    let text = MetricsText { text: text.into() };
    vec![("metrics", MuxResponse::Metrics(Ok(text)))]
}
