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
pub(crate) struct SlotUsage {
    last: Mutex<Instant>,
    in_flight: AtomicU64,
    /// The live runs that have used it.
    runs: Mutex<HashSet<String>>,
    /// Notified when a call or a run has ended.
    less: Notify,
}

impl Default for SlotUsage {
    fn default() -> Self {
        Self {
            last: Mutex::new(Instant::now()),
            in_flight: AtomicU64::new(0),
            runs: Mutex::default(),
            less: Notify::new(),
        }
    }
}

impl SlotUsage {
    pub(super) fn touch(&self) {
        *self.last() = Instant::now();
    }

    pub(super) fn begin_call(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end_call(&self) {
        self.touch();
        self.in_flight.fetch_sub(1, Ordering::Release);
        self.less.notify_waiters();
    }

    /// Since when no call is in flight; `None` while one is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let busy = self.in_flight.load(Ordering::Relaxed) > 0;
        (!busy).then(|| *self.last())
    }

    pub(super) fn add_run(&self, run: &str) {
        self.runs().insert(run.to_owned());
    }

    /// Forgets a run that has ended.
    pub(super) fn release_run(&self, run: &str) {
        if self.runs().remove(run) {
            self.less.notify_waiters();
        }
    }

    /// Resolves when no call is in flight, and no live run has used the slot.
    pub(super) async fn wait_until_free(&self) {
        loop {
            let mut less = pin!(self.less.notified());
            less.as_mut().enable();
            if self.is_free() {
                return;
            }
            less.await;
        }
    }

    fn is_free(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0 && self.runs().is_empty()
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock()
    }

    fn runs(&self) -> MutexGuard<'_, HashSet<String>> {
        self.runs.lock()
    }
}
