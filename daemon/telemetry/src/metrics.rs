//! What happened since the daemon started, in numbers: counted where it happens, told in Prometheus' text.
//!
//! Invariant: no label holds an argument, a result, a path or a secret, and the number of series is bounded, whatever
//! servers call themselves and their tools. Whoever counts waits for nobody.

mod call_meter;
mod metrics_port;
mod metrics_snapshot;
mod metrics_token;
mod process_stats;
mod run_meters;
mod server_meters;
mod text_format;

use std::{path::PathBuf, sync::Arc, time::Duration};

use prometheus_client::{metrics::histogram::Histogram, registry::Registry};

pub use self::{
    call_meter::CallMeter,
    metrics_port::MetricsPort,
    metrics_snapshot::{MetricsSnapshot, ServerSnapshot},
    process_stats::{ProcessStats, resident_bytes, tree_bytes},
    run_meters::RunMeters,
    server_meters::{OTHER_LABEL, ServerMeters, UNKNOWN_LABEL},
    text_format::TextFormat,
};
use self::{metrics_snapshot::SnapshotCollector, server_meters::ServerMetrics};

/// All that is counted, and the port on which it may be read.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    servers: ServerMetrics,
    pub runs: RunMeters,
    checks: Histogram,
    pub port: MetricsPort,
}

impl Metrics {
    /// `token` is the file with what the port asks for.
    pub fn new(token: PathBuf) -> Arc<Self> {
        let mut registry = Registry::default();
        let servers = ServerMetrics::register(&mut registry);
        let runs = RunMeters::register(&mut registry);
        let checks = Histogram::new(SHORT_BUCKETS_SECONDS);
        registry.register(
            "muxd_check_duration_seconds",
            "How long the types of a program took to check, known verdicts among them",
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

    /// What is counted of a server. `identity` tells it apart from those of the same name in other projects.
    pub fn server(&self, identity: &str) -> Arc<ServerMeters> {
        self.servers.of(identity)
    }

    /// A call begins; nobody knows yet of which server.
    pub fn begin_call(&self) -> CallMeter {
        CallMeter::begin(self.servers.unknown())
    }

    pub fn count_check(&self, took: Duration) {
        self.checks.observe(took.as_secs_f64());
    }

    /// All of it, with what is so at this moment.
    pub fn text(&self, moment: MetricsSnapshot, format: TextFormat) -> String {
        let mut now = Registry::default();
        now.register_collector(Box::new(SnapshotCollector(moment)));
        text_format::of(&[&now, &self.registry], format)
    }
}

/// For what is over in milliseconds, in seconds.
const SHORT_BUCKETS_SECONDS: [f64; 15] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];

/// For what may take minutes.
const LONG_BUCKETS_SECONDS: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

#[cfg(test)]
mod tests;
