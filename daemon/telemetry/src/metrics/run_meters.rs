//! Metrics of runs.

use std::time::Duration;

use mux_wire::FaultKind;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

use super::{LONG_BUCKETS_SECONDS, SHORT_BUCKETS_SECONDS, server_meters::OK_OUTCOME};

#[derive(Debug)]
pub struct RunMeters {
    started: Counter,
    ended: Family<[(&'static str, String); 1], Counter>,
    duration: Histogram,
    wait: Histogram,
}

impl RunMeters {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let meters = Self {
            started: Counter::default(),
            ended: Family::default(),
            duration: Histogram::new(LONG_BUCKETS_SECONDS),
            wait: Histogram::new(SHORT_BUCKETS_SECONDS),
        };
        drop(meters.ended.get_or_create(&outcome(None)));
        let Self {
            started,
            ended,
            duration,
            wait,
        } = &meters;
        registry.register(
            "muxd_runs_started",
            "Runs that were accepted",
            started.clone(),
        );
        registry.register(
            "muxd_runs",
            "Runs that have ended, by outcome: ok, or the kind of the error",
            ended.clone(),
        );
        registry.register(
            "muxd_run_duration_seconds",
            "How long runs took, from their acceptance to their end",
            duration.clone(),
        );
        registry.register(
            "muxd_worker_wait_seconds",
            "How long programs waited for a worker",
            wait.clone(),
        );
        meters
    }

    pub fn started(&self) {
        self.started.inc();
    }

    /// Records how long a program waited for a worker.
    pub fn waited(&self, time: Duration) {
        self.wait.observe(time.as_secs_f64());
    }

    /// Counts an ended run. `kind` is `None` on success.
    pub fn ended(&self, kind: Option<FaultKind>, took: Duration) {
        self.ended.get_or_create(&outcome(kind)).inc();
        self.duration.observe(took.as_secs_f64());
    }
}

fn outcome(kind: Option<FaultKind>) -> [(&'static str, String); 1] {
    [(
        "outcome",
        kind.map_or(OK_OUTCOME, FaultKind::as_str).to_owned(),
    )]
}
