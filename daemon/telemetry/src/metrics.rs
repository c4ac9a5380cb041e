//! The daemon's metrics since its start, exposed in Prometheus' text format.
//!
//! Invariant: no label contains an argument, a result, a path or a secret. The number of series is bounded,
//! regardless of server and tool names. Counting never blocks.

mod call_meter;
mod metrics_port;
mod metrics_snapshot;
mod metrics_token;
mod run_meters;
mod server_meters;
mod text_format;

use std::{path::PathBuf, sync::Arc, time::Duration};

use prometheus_client::{metrics::histogram::Histogram, registry::Registry};

pub use self::{
    call_meter::CallMeter,
    metrics_port::MetricsPort,
    metrics_snapshot::{MetricsSnapshot, ServerSnapshot},
    run_meters::RunMeters,
    server_meters::{OTHER_LABEL, ServerMeters, UNKNOWN_LABEL},
    text_format::TextFormat,
};
use self::{metrics_snapshot::SnapshotCollector, server_meters::ServerMetrics};

/// All metrics, and the port that serves them.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    servers: ServerMetrics,
    pub runs: RunMeters,
    checks: Histogram,
    pub port: MetricsPort,
}

impl Metrics {
    /// `token` is the file with the port's token.
    pub fn new(token: PathBuf) -> Arc<Self> {
        let mut registry = Registry::default();
        let servers = ServerMetrics::register(&mut registry);
        let runs = RunMeters::register(&mut registry);
        let checks = Histogram::new(SHORT_BUCKETS_SECONDS);
        registry.register(
            "muxd_check_duration_seconds",
            "How long type checks of programs took, including cached verdicts",
            checks.clone(),
        );
        Arc::new(Self {
            registry,
            servers,
            runs,
            checks,
            port: MetricsPort::new(token),
        })
    }

    /// The meters of a server. `identity` distinguishes it from servers of the same name in other projects.
    pub fn server(&self, identity: &str) -> Arc<ServerMeters> {
        self.servers.of(identity)
    }

    /// Begins to meter a call whose server is not known yet.
    pub fn begin_call(&self) -> CallMeter {
        CallMeter::begin(self.servers.unknown())
    }

    pub fn count_check(&self, took: Duration) {
        self.checks.observe(took.as_secs_f64());
    }

    /// All metrics as text, together with the snapshot `moment`.
    pub fn text(&self, moment: MetricsSnapshot, format: TextFormat) -> String {
        let mut now = Registry::default();
        now.register_collector(Box::new(SnapshotCollector(moment)));
        text_format::of(&[&now, &self.registry], format)
    }
}

/// Histogram buckets for durations of milliseconds.
const SHORT_BUCKETS_SECONDS: [f64; 15] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];

/// Histogram buckets for durations of up to minutes.
const LONG_BUCKETS_SECONDS: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

#[cfg(test)]
mod tests;
