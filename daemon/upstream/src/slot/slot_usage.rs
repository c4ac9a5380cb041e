//! When a slot was last used, and what uses it.
//!
//! Invariant: a run is listed from its first session here until it has ended.

use std::{collections::HashSet, sync::atomic::Ordering};

use parking_lot::MutexGuard;
use tokio::time::Instant;

use super::SlotUsage;

impl SlotUsage {
    pub(crate) fn touch(&self) {
        *self.last() = Instant::now();
    }

    /// Since when no call is in flight; `None` while one is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let busy = self.in_flight.load(Ordering::Relaxed) > 0;
        (!busy).then(|| *self.last())
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock()
    }

    pub(super) fn is_free(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0 && self.runs().is_empty()
    }

    pub(super) fn runs(&self) -> MutexGuard<'_, HashSet<String>> {
        self.runs.lock()
    }
}
