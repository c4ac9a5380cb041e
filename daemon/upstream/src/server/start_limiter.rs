//! Limits how many servers start at the same time.
//!
//! A start keeps a processor busy for a moment and then mostly waits. So a start holds its permit for that moment only:
//! one that takes long, or hangs, goes on without a permit.
//!
//! Invariant: the wait of a server depends only on the length of the queue before it, not on starts that hang.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// How long a start may hold its permit.
const START_PERMIT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct StartLimiter {
    permits: Arc<Semaphore>,
    /// The number of permits, once those to be removed are returned.
    count: Mutex<usize>,
}

impl StartLimiter {
    pub fn new(count: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(count)),
            count: Mutex::new(count),
        }
    }

    /// Sets the number of concurrent starts.
    pub fn set_limit(&self, count: usize) {
        let mut current = self.count.lock();
        if count > *current {
            self.permits.add_permits(count - *current);
        } else if let Ok(fewer) = u32::try_from(*current - count) {
            // Permits in use are removed when they are returned.
            match self.permits.try_acquire_many(fewer) {
                Ok(free) => free.forget(),
                Err(_) => {
                    let surplus = Arc::clone(&self.permits).acquire_many_owned(fewer);
                    tokio::spawn(async move { surplus.await.map(OwnedSemaphorePermit::forget) });
                }
            }
        }
        *current = count;
    }

    /// Runs `start` with a permit; calls `on_wait` first if none is free.
    pub(super) async fn run_start<T>(
        &self,
        on_wait: impl FnOnce(),
        start: impl Future<Output = T>,
    ) -> T {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(_) => {
                on_wait();
                // The semaphore is never closed.
                Arc::clone(&self.permits).acquire_owned().await.ok()
            }
        };
        let mut start = std::pin::pin!(start);
        match timeout(START_PERMIT_TIMEOUT, &mut start).await {
            Ok(outcome) => outcome,
            Err(_) => {
                drop::<Option<OwnedSemaphorePermit>>(permit);
                start.await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::time::{Instant, sleep};

    use super::*;

    async fn most_at_once(starts: &StartLimiter, count: usize) -> usize {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let start = || async {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(100)).await;
            now.fetch_sub(1, Ordering::SeqCst);
        };
        join_all((0..count).map(|_| starts.run_start(|| {}, start()))).await;
        most.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_starts_are_limited() {
        let starts = StartLimiter::new(4);
        assert_eq!(most_at_once(&starts, 20).await, 4);
        starts.set_limit(2);
        assert_eq!(most_at_once(&starts, 20).await, 2);
        starts.set_limit(7);
        assert_eq!(most_at_once(&starts, 20).await, 7);
    }

    #[tokio::test(start_paused = true)]
    async fn hanging_starts_release_their_permits_after_the_timeout() {
        let starts = StartLimiter::new(2);
        let started = Instant::now();
        let waited = AtomicUsize::new(0);
        let hanging = || starts.run_start(|| {}, sleep(START_PERMIT_TIMEOUT * 100));
        let good = starts.run_start(
            || {
                waited.fetch_add(1, Ordering::SeqCst);
            },
            async { started.elapsed() },
        );
        let (_, _, started) = tokio::join!(hanging(), hanging(), good);
        assert_eq!(waited.into_inner(), 1);
        assert!(started <= START_PERMIT_TIMEOUT, "{started:?}");
    }
}
