//! The progress reports and the time limits of a call in flight.
//!
//! Invariant: time that a call waits in the rate limiter does not count against it.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use mux_caller::{ClockPauseGuard, PausableClock};
use mux_telemetry::trace::TraceContext;

/// The limits of one call, set by its sender.
#[derive(Clone, Debug)]
pub struct CallLimits {
    /// The clock for all limits, which can be paused.
    pub clock: Arc<PausableClock>,
    pub begun: Instant,
    /// How long the call may go without a progress report.
    pub within: Duration,
    /// How long the call may take in total.
    pub whole: Duration,
    /// The trace and span of the call.
    pub trace: Option<TraceContext>,
}

type ProgressCallback = dyn Fn(f64, Option<f64>, &str) + Send + Sync;

/// Reports the progress of one call. Cheap to clone.
#[derive(Clone)]
pub struct CallProgress {
    limits: CallLimits,
    tell: Arc<ProgressCallback>,
    /// The last reported progress.
    done: Arc<Mutex<(f64, Option<f64>)>>,
}

impl CallProgress {
    pub fn new(
        limits: CallLimits,
        tell: impl Fn(f64, Option<f64>, &str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            limits,
            tell: Arc::new(tell),
            done: Arc::default(),
        }
    }

    /// For a call whose progress has no listener.
    pub fn to_nobody(within: Duration) -> Self {
        let limits = CallLimits {
            clock: Arc::default(),
            begun: Instant::now(),
            within,
            whole: within,
            trace: None,
        };
        Self::new(limits, |_, _, _| {})
    }

    /// Reports `done` of `total`, which resets the `within` limit.
    pub fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        *self.done.lock() = (done, total);
        (self.tell)(done, total, message);
    }

    /// Reports why the call makes no progress at the moment.
    pub fn note(&self, message: &str) {
        let (done, total) = *self.done.lock();
        (self.tell)(done, total, message);
    }

    /// The trace context that its requests carry.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.limits.trace.as_ref()
    }

    /// Pauses the call's clock until the guard is dropped.
    pub fn hold(&self) -> ClockPauseGuard {
        self.limits.clock.pause()
    }

    /// How long the call may wait without a report and still have time for a response.
    pub fn patience(&self) -> Duration {
        let counted = self.limits.begun.elapsed();
        let counted = counted.saturating_sub(self.limits.clock.paused_for());
        let left = self.limits.whole.saturating_sub(counted);
        left.min(self.limits.within) * 9 / 10
    }
}

impl fmt::Debug for CallProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallProgress")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
