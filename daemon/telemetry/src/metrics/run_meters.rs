//! Metrics of runs.

use std::{collections::BTreeMap, time::Duration};

use mux_messages::{Histogram, RunMetrics};
use mux_wire::FaultKind;
use parking_lot::Mutex;

use super::{LONG_BOUNDS_SECONDS, OK_OUTCOME, SHORT_BOUNDS_SECONDS, count_outcome};

#[derive(Debug)]
pub struct RunMeters(Mutex<RunCounts>);

#[derive(Clone, Debug)]
pub struct RunCounts {
    /// `running` is not counted here.
    pub runs: RunMetrics,
    /// How long programs waited for a worker.
    pub worker_wait: Histogram,
}

impl RunMeters {
    pub(super) fn new() -> Self {
        Self(Mutex::new(RunCounts {
            runs: RunMetrics {
                ended: BTreeMap::from([(OK_OUTCOME.to_owned(), 0)]),
                seconds: Histogram::with_bounds(LONG_BOUNDS_SECONDS),
                ..RunMetrics::default()
            },
            worker_wait: Histogram::with_bounds(SHORT_BOUNDS_SECONDS),
        }))
    }

    pub fn started(&self) {
        self.0.lock().runs.started += 1;
    }

    /// Records how long a program waited for a worker.
    pub fn waited(&self, time: Duration) {
        self.0.lock().worker_wait.observe(time);
    }

    /// Counts an ended run. `kind` is `None` on success.
    pub fn ended(&self, kind: Option<FaultKind>, took: Duration) {
        let runs = &mut self.0.lock().runs;
        count_outcome(&mut runs.ended, kind);
        runs.seconds.observe(took);
    }

    pub fn counts(&self) -> RunCounts {
        self.0.lock().clone()
    }
}
