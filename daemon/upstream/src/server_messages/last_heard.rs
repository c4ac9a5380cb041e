//! The time of the last message from a server.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

/// The time of the last message from a server.
#[derive(Debug)]
pub(crate) struct LastHeard {
    since: Instant,
    /// Milliseconds since `since`.
    last: AtomicU64,
}

impl Default for LastHeard {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            last: AtomicU64::new(0),
        }
    }
}

impl LastHeard {
    pub(super) fn record_heard(&self) {
        let now = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    pub(crate) fn time(&self) -> Instant {
        self.since + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}
