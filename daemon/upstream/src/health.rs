//! What is not as it should be with a session that is open: the reasons why a server is degraded.
//!
//! Invariant: a reason goes with its cause, without anybody's doing.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::pace::Pace;

/// Words on the progress of what nobody waits for; a few come of answers that cross a cancellation.
const STRANGERS: u64 = 100;

#[derive(Debug, Default)]
pub(super) struct Health {
    pub(super) pace: Pace,
    /// It has answered a call.
    useful: AtomicBool,
    state: Mutex<State>,
}

/// Guarded by `Health`.
#[derive(Debug, Default)]
struct State {
    /// Why the tools could not be listed again.
    unlisted: Option<String>,
    /// Since when it has not answered a ping.
    late: Option<Instant>,
}

impl Health {
    pub(super) fn answered(&self) {
        self.useful.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_useful(&self) -> bool {
        self.useful.load(Ordering::Relaxed)
    }

    pub(super) fn listed(&self, outcome: Result<(), &str>) {
        self.state().unlisted = outcome.err().map(str::to_owned);
    }

    pub(super) fn late(&self, since: Option<Instant>) {
        self.state().late = since;
    }

    /// Why it is degraded.
    pub(super) fn complaint(&self, strangers: u64) -> Option<String> {
        let state = self.state();
        if let Some(late) = state.late {
            let silent = Duration::from_secs(late.elapsed().as_secs());
            return Some(format!(
                "it has said nothing for {silent:?} and answers no ping"
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
        (strangers > STRANGERS)
            .then(|| format!("it told {strangers} times of the progress of what nobody waits for"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_ends_with_its_cause() {
        let health = Health::default();
        assert_eq!(health.complaint(0), None);
        health.listed(Err("it hangs"));
        assert!(health.complaint(0).unwrap().contains("it hangs"));
        health.late(Some(Instant::now() - Duration::from_secs(40)));
        assert!(health.complaint(0).unwrap().contains("40s"));
        health.late(None);
        health.listed(Ok(()));
        assert_eq!(health.complaint(STRANGERS), None);
        assert!(health.complaint(STRANGERS + 1).unwrap().contains("101"));
    }
}
