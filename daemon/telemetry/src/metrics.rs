//! The daemon's metrics since its start.
//!
//! Invariant: no label contains an argument, a result, a path or a secret. The number of labels is bounded,
//! regardless of server and tool names. Counting waits for nothing but another count.

mod call_meter;
mod histogram;
mod metrics_port;
mod metrics_token;
mod run_meters;
mod server_meters;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use parking_lot::Mutex;

pub use self::{
    call_meter::CallMeter,
    histogram::Histogram,
    metrics_port::{MetricsPage, MetricsPort},
    run_meters::{RunCounts, RunMeters},
    server_meters::{ServerCounts, ServerMeters, ToolCounts},
};
use self::{histogram::SHORT_BOUNDS_SECONDS, server_meters::ServerMetrics};

/// The outcome of a success.
const OK_OUTCOME: &str = "ok";

/// All metrics, and the port that serves them.
#[derive(Debug)]
pub struct Metrics {
    servers: ServerMetrics,
    pub runs: RunMeters,
    checks: Mutex<Histogram>,
    pub port: MetricsPort,
}

impl Metrics {
    /// `token` is the file with the port's token.
    pub fn new(token: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            servers: ServerMetrics::new(),
            runs: RunMeters::new(),
            checks: Mutex::new(Histogram::new(SHORT_BOUNDS_SECONDS)),
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
        self.checks.lock().observe(took);
    }

    /// How long type checks of programs took, including cached verdicts.
    pub fn checks(&self) -> Histogram {
        self.checks.lock().clone()
    }

    /// The counts of all servers by label.
    pub fn server_counts(&self) -> BTreeMap<String, ServerCounts> {
        self.servers.counts()
    }

    /// How long sessions took to open, from the start of the process to the list of tools.
    pub fn session_openings(&self) -> Histogram {
        self.servers.openings()
    }
}

#[cfg(test)]
mod tests;
