//! The daemon's metrics since its start.
//!
//! Invariant: no label contains an argument, a result, a path or a secret. The number of labels is bounded,
//! regardless of server and tool names. Counting waits for nothing but another count.

mod call_meter;
mod metrics_port;
mod metrics_token;
mod run_meters;
mod server_meters;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use mux_messages::{Histogram, ServerMetrics};
use mux_wire::FaultKind;
use parking_lot::Mutex;

use self::server_meters::AllServerMeters;
pub use self::{
    call_meter::CallMeter,
    metrics_port::{MetricsPage, MetricsPort},
    run_meters::{RunCounts, RunMeters},
    server_meters::ServerMeters,
};

/// The outcome of a success.
const OK_OUTCOME: &str = "ok";
/// Bounds for durations of milliseconds.
const SHORT_BOUNDS_SECONDS: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];
/// Bounds for durations of up to minutes.
const LONG_BOUNDS_SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// All metrics, and the port that serves them.
#[derive(Debug)]
pub struct Metrics {
    servers: AllServerMeters,
    pub runs: RunMeters,
    checks: Mutex<Histogram>,
    pub port: MetricsPort,
}

impl Metrics {
    /// `token` is the file with the port's token.
    pub fn new(token: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            servers: AllServerMeters::new(),
            runs: RunMeters::new(),
            checks: Mutex::new(Histogram::with_bounds(SHORT_BOUNDS_SECONDS)),
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

    /// The metrics of all servers by label, without the sessions that are open now.
    pub fn of_servers(&self) -> BTreeMap<String, ServerMetrics> {
        self.servers.metrics()
    }

    /// How long sessions took to open, from the start of the process to the list of tools.
    pub fn session_openings(&self) -> Histogram {
        self.servers.openings()
    }
}

/// Counts an ended run or call. `kind` is `None` on success.
fn count_outcome(counts: &mut BTreeMap<String, u64>, kind: Option<FaultKind>) {
    let outcome = kind.map_or(OK_OUTCOME, FaultKind::as_str);
    *counts.entry(outcome.to_owned()).or_default() += 1;
}

#[cfg(test)]
mod tests;
