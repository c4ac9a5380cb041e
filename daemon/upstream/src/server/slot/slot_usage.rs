//! The time of a slot's last use, and its present users.
//!
//! Invariant: a run is listed from its first session here until it has ended.

use std::{
    collections::HashSet,
    pin::pin,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

/// How long after a call the slot counts as in use.
const IN_USE_PERIOD: Duration = Duration::from_mins(5);

/// The time of the slot's last use, and its present users.
#[derive(Debug)]
pub(super) struct SlotUsage {
    last_used: Mutex<Instant>,
    /// Set if a call was made on the present session.
    called: AtomicBool,
    in_flight: AtomicU64,
    /// The live runs that have used the slot.
    runs: Mutex<HashSet<String>>,
    /// Notified when a call or a run has ended.
    released: Notify,
}

impl Default for SlotUsage {
    fn default() -> Self {
        Self {
            last_used: Mutex::new(Instant::now()),
            called: AtomicBool::new(false),
            in_flight: AtomicU64::new(0),
            runs: Mutex::default(),
            released: Notify::new(),
        }
    }
}

impl SlotUsage {
    pub(super) fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    pub(super) fn begin_call(&self) {
        self.called.store(true, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end_call(&self) {
        self.touch();
        self.in_flight.fetch_sub(1, Ordering::Release);
        self.released.notify_waiters();
    }

    /// The time since which no call is in flight. `None` while a call is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let busy = self.in_flight.load(Ordering::Relaxed) > 0;
        (!busy).then(|| *self.last_used.lock())
    }

    /// Handles the end of a session. Returns true if the session was called and is still in use: by a live run, or by a
    /// call in the last minutes. A session that was never called is not in use, because unused sessions that end must
    /// not be replaced over and over.
    pub(super) fn end_session(&self) -> bool {
        let called = self.called.swap(false, Ordering::Relaxed);
        let is_recent = || {
            let idle_since = self.idle_since();
            idle_since.is_none_or(|since| since.elapsed() < IN_USE_PERIOD)
        };
        called && (!self.runs.lock().is_empty() || is_recent())
    }

    pub(super) fn add_run(&self, run: &str) {
        self.runs.lock().insert(run.to_owned());
    }

    /// Forgets a run that has ended.
    pub(super) fn release_run(&self, run: &str) {
        if self.runs.lock().remove(run) {
            self.released.notify_waiters();
        }
    }

    /// Resolves when no call is in flight, and no live run has used the slot.
    pub(super) async fn wait_until_free(&self) {
        loop {
            let mut released = pin!(self.released.notified());
            released.as_mut().enable();
            if self.is_free() {
                return;
            }
            released.await;
        }
    }

    fn is_free(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0 && self.runs.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn session_is_in_use_for_minutes_after_its_last_call_and_while_a_run_holds_it() {
        let usage = SlotUsage::default();
        assert!(!usage.end_session(), "no call was made");
        let call = || {
            usage.begin_call();
            usage.end_call();
        };
        call();
        tokio::time::sleep(IN_USE_PERIOD / 2).await;
        assert!(usage.end_session());
        assert!(!usage.end_session(), "the next session was not called");
        call();
        tokio::time::sleep(IN_USE_PERIOD).await;
        assert!(!usage.end_session(), "it is idle");
        usage.add_run("r");
        call();
        tokio::time::sleep(IN_USE_PERIOD).await;
        assert!(usage.end_session(), "a run holds it");
        usage.release_run("r");
        usage.begin_call();
        tokio::time::sleep(IN_USE_PERIOD).await;
        assert!(usage.end_session(), "a call is in flight");
    }
}
