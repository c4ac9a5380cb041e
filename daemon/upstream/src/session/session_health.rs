//! The reasons why an open session counts as degraded.
//!
//! Invariant: a reason disappears with its cause.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::latency_baseline::LatencyBaseline;

/// The number of stray progress notifications that is tolerated; a few come from answers that cross a cancellation.
const MAX_STRAY_PROGRESS: u64 = 100;

#[derive(Debug, Default)]
pub(crate) struct SessionHealth {
    pub(crate) pace: LatencyBaseline,
    /// Whether it has answered a call.
    useful: AtomicBool,
    state: Mutex<HealthState>,
}

/// Guarded by `SessionHealth`.
#[derive(Debug, Default)]
struct HealthState {
    /// Why the tools could not be listed again.
    unlisted: Option<String>,
    /// Set since it has not answered a ping.
    late: Option<Instant>,
}

impl SessionHealth {
    pub(crate) fn record_answer(&self) {
        self.useful.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_useful(&self) -> bool {
        self.useful.load(Ordering::Relaxed)
    }

    pub(crate) fn record_listing(&self, outcome: Result<(), &str>) {
        self.state().unlisted = outcome.err().map(str::to_owned);
    }

    pub(crate) fn set_unresponsive_since(&self, since: Option<Instant>) {
        self.state().late = since;
    }

    /// Why it is degraded; `strangers` is the number of stray progress notifications.
    pub(crate) fn degraded_reason(&self, strangers: u64) -> Option<String> {
        let state = self.state();
        if let Some(late) = state.late {
            let silent = Duration::from_secs(late.elapsed().as_secs());
            return Some(format!(
                "it has been silent for {silent:?} and does not answer pings"
            ));
        }
        if let Some(error) = &state.unlisted {
            return Some(format!(
                "its tools have changed and cannot be listed: {error}"
            ));
        }
        if self.pace.is_slow() {
            return Some("its last calls took more than 5 times as long as usual".into());
        }
        (strangers > MAX_STRAY_PROGRESS)
            .then(|| format!("it sent {strangers} progress notifications for no request in flight"))
    }

    fn state(&self) -> MutexGuard<'_, HealthState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degraded_reason_ends_with_its_cause() {
        let health = SessionHealth::default();
        assert_eq!(health.degraded_reason(0), None);
        health.record_listing(Err("it hangs"));
        assert!(health.degraded_reason(0).unwrap().contains("it hangs"));
        health.set_unresponsive_since(Some(Instant::now() - Duration::from_secs(40)));
        assert!(health.degraded_reason(0).unwrap().contains("40s"));
        health.set_unresponsive_since(None);
        health.record_listing(Ok(()));
        assert_eq!(health.degraded_reason(MAX_STRAY_PROGRESS), None);
        assert!(
            health
                .degraded_reason(MAX_STRAY_PROGRESS + 1)
                .unwrap()
                .contains("101")
        );
    }
}
