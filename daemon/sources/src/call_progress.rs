//! What a call that is under way can tell, and the time that it has.
//!
//! Invariant: time that a call spends in our own line is not counted as its own.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use mux_caller::{ClockPauseGuard, PausableClock};
use mux_telemetry::trace::TraceContext;

/// The limits of one call, set by whoever sends it.
#[derive(Clone, Debug)]
pub struct CallLimits {
    /// By which all of them are kept.
    pub clock: Arc<PausableClock>,
    pub begun: Instant,
    /// How long nothing may be heard of it.
    pub within: Duration,
    /// However much is heard.
    pub whole: Duration,
    /// Where in which trace it stands.
    pub trace: Option<TraceContext>,
}

type ProgressCallback = dyn Fn(f64, Option<f64>, &str) + Send + Sync;

/// Of one call; cheap to clone.
#[derive(Clone)]
pub struct CallProgress {
    terms: CallLimits,
    tell: Arc<ProgressCallback>,
    /// What was told last.
    done: Arc<Mutex<(f64, Option<f64>)>>,
}

impl CallProgress {
    pub fn new(
        terms: CallLimits,
        tell: impl Fn(f64, Option<f64>, &str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            terms,
            tell: Arc::new(tell),
            done: Arc::default(),
        }
    }

    /// For what nobody waits for.
    pub fn to_nobody(within: Duration) -> Self {
        let terms = CallLimits {
            clock: Arc::default(),
            begun: Instant::now(),
            within,
            whole: within,
            trace: None,
        };
        Self::new(terms, |_, _, _| {})
    }

    /// So much of so much is done. The call is not silent any more.
    pub fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        *self.done() = (done, total);
        (self.tell)(done, total, message);
    }

    /// Why nothing goes on at the moment.
    pub fn note(&self, message: &str) {
        let (done, total) = *self.done();
        (self.tell)(done, total, message);
    }

    /// What its requests tell an API of the trace.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.terms.trace.as_ref()
    }

    /// The call's time stands still until this is dropped.
    pub fn hold(&self) -> ClockPauseGuard {
        self.terms.clock.pause()
    }

    /// How long it may wait for something that tells nothing, and still have time for an answer.
    pub fn patience(&self) -> Duration {
        let counted = self.terms.begun.elapsed();
        let counted = counted.saturating_sub(self.terms.clock.paused_for());
        let left = self.terms.whole.saturating_sub(counted);
        left.min(self.terms.within) * 9 / 10
    }

    fn done(&self) -> std::sync::MutexGuard<'_, (f64, Option<f64>)> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CallProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallProgress")
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}
