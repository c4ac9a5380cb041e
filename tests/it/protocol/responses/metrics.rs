//! Metrics.

use mux_proto::{Metrics, ServerMetrics, service::MuxResponse};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let mut server = ServerMetrics::default();
    server.calls.insert("ok".into(), 3);
    server.call_seconds.count = 3;
    server.call_seconds.sum = 0.125;
    let mut metrics = Metrics {
        build: "0.1.0".into(),
        contract: 1,
        uptime_seconds: 12.5,
        started_seconds: 1_700_000_000.25,
        clients: 1,
        ..Metrics::default()
    };
    metrics.servers.insert("fix".into(), server);
    vec![("metrics", MuxResponse::Metrics(Ok(metrics)))]
}
