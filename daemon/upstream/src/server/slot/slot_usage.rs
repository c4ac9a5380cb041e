//! When a slot was last used, and what uses it.
//!
//! Invariant: a run is listed from its first session here until it has ended.

use std::{
    collections::HashSet,
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::Notify, time::Instant};

/// When the slot was last used, and what uses it.
#[derive(Debug)]
pub(super) struct SlotUsage {
    last_used: Mutex<Instant>,
    in_flight: AtomicU64,
    /// The live runs that have used it.
    runs: Mutex<HashSet<String>>,
    /// Notified when a call or a run has ended.
    released: Notify,
}

impl Default for SlotUsage {
    fn default() -> Self {
        Self {
            last_used: Mutex::new(Instant::now()),
            in_flight: AtomicU64::new(0),
            runs: Mutex::default(),
            released: Notify::new(),
        }
    }
}

impl SlotUsage {
    pub(super) fn touch(&self) {
        *self.last_used() = Instant::now();
    }

    pub(super) fn begin_call(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end_call(&self) {
        self.touch();
        self.in_flight.fetch_sub(1, Ordering::Release);
        self.released.notify_waiters();
    }

    /// Since when no call is in flight; `None` while one is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let busy = self.in_flight.load(Ordering::Relaxed) > 0;
        (!busy).then(|| *self.last_used())
    }

    pub(super) fn add_run(&self, run: &str) {
        self.runs().insert(run.to_owned());
    }

    /// Forgets a run that has ended.
    pub(super) fn release_run(&self, run: &str) {
        if self.runs().remove(run) {
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
        self.in_flight.load(Ordering::Acquire) == 0 && self.runs().is_empty()
    }

    fn last_used(&self) -> MutexGuard<'_, Instant> {
        self.last_used.lock()
    }

    fn runs(&self) -> MutexGuard<'_, HashSet<String>> {
        self.runs.lock()
    }
}
