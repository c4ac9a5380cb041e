//! Metrics of runs.

use std::{collections::BTreeMap, time::Duration};

use mux_wire::FaultKind;
use parking_lot::Mutex;

use super::{
    OK_OUTCOME,
    histogram::{Histogram, LONG_BOUNDS_SECONDS, SHORT_BOUNDS_SECONDS},
};

#[derive(Debug)]
pub struct RunMeters(Mutex<RunCounts>);

#[derive(Clone, Debug)]
pub struct RunCounts {
    pub started: u64,
    /// By outcome: `ok`, or the kind of the error.
    pub ended: BTreeMap<&'static str, u64>,
    pub duration: Histogram,
    /// How long programs waited for a worker.
    pub worker_wait: Histogram,
}

impl RunMeters {
    pub(super) fn new() -> Self {
        Self(Mutex::new(RunCounts {
            started: 0,
            ended: BTreeMap::from([(OK_OUTCOME, 0)]),
            duration: Histogram::new(LONG_BOUNDS_SECONDS),
            worker_wait: Histogram::new(SHORT_BOUNDS_SECONDS),
        }))
    }

    pub fn started(&self) {
        self.0.lock().started += 1;
    }

    /// Records how long a program waited for a worker.
    pub fn waited(&self, time: Duration) {
        self.0.lock().worker_wait.observe(time);
    }

    /// Counts an ended run. `kind` is `None` on success.
    pub fn ended(&self, kind: Option<FaultKind>, took: Duration) {
        let mut counts = self.0.lock();
        let outcome = kind.map_or(OK_OUTCOME, FaultKind::as_str);
        *counts.ended.entry(outcome).or_default() += 1;
        counts.duration.observe(took);
    }

    pub fn counts(&self) -> RunCounts {
        self.0.lock().clone()
    }
}
