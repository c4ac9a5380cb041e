//! The reasons an open session counts as degraded.
//!
//! Invariant: a reason disappears with its cause.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::latency_baseline::LatencyBaseline;

/// The number of stray progress notifications that are tolerated. A few come from answers that cross a cancellation.
const MAX_STRAY_PROGRESS: u64 = 100;
/// The number of failed calls in a row that degrades a session.
const MIN_FAILED_CALLS: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct SessionHealth {
    pub(super) latency: LatencyBaseline,
    /// Set if the session has answered a call.
    has_answered: AtomicBool,
    state: Mutex<HealthState>,
}

/// The state that `SessionHealth` guards.
#[derive(Debug, Default)]
struct HealthState {
    /// The reason the tools could not be listed.
    listing_error: Option<String>,
    /// The time since which the server has not answered a ping.
    unresponsive_since: Option<Instant>,
    /// The failures of calls since the last call that was answered.
    failed_calls: u32,
    last_failure: String,
}

impl SessionHealth {
    pub(super) fn record_answer(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
        self.record_refusal();
    }

    /// Records a call that the server refused for its own reasons.
    pub(super) fn record_refusal(&self) {
        self.state.lock().failed_calls = 0;
    }

    /// Records a call that the server, or the path to it, did not accept.
    pub(super) fn record_failure(&self, why: String) {
        let mut state = self.state.lock();
        state.failed_calls = state.failed_calls.saturating_add(1);
        state.last_failure = why;
    }

    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    pub(super) fn record_listing(&self, outcome: Result<(), &str>) {
        self.state.lock().listing_error = outcome.err().map(str::to_owned);
    }

    pub(super) fn listing_error(&self) -> Option<String> {
        self.state.lock().listing_error.clone()
    }

    pub(super) fn set_unresponsive_since(&self, since: Option<Instant>) {
        self.state.lock().unresponsive_since = since;
    }

    /// The reason the session is degraded. `stray_progress` is the number of stray progress notifications.
    pub(super) fn degraded_reason(&self, stray_progress: u64) -> Option<String> {
        let state = self.state.lock();
        if let Some(unresponsive_since) = state.unresponsive_since {
            let silent = Duration::from_secs(unresponsive_since.elapsed().as_secs());
            return Some(format!(
                "it has been silent for {silent:?} and does not answer pings"
            ));
        }
        if let Some(error) = &state.listing_error {
            return Some(format!("its tools may have changed, but {error}"));
        }
        if state.failed_calls >= MIN_FAILED_CALLS {
            return Some(format!(
                "its last {} calls failed; the last time: {}",
                state.failed_calls, state.last_failure
            ));
        }
        if self.latency.is_slow() {
            return Some("its last calls took more than 5 times as long as usual".into());
        }
        (stray_progress > MAX_STRAY_PROGRESS).then(|| {
            format!("it sent {stray_progress} progress notifications for no request in flight")
        })
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
        health.record_failure("HTTP 500".into());
        assert_eq!(health.degraded_reason(0), None);
        health.record_failure("HTTP 502".into());
        assert!(health.degraded_reason(0).unwrap().contains("HTTP 502"));
        health.record_answer();
        assert_eq!(health.degraded_reason(MAX_STRAY_PROGRESS), None);
        assert!(
            health
                .degraded_reason(MAX_STRAY_PROGRESS + 1)
                .unwrap()
                .contains("101")
        );
    }
}
