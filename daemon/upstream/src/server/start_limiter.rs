//! Limits how many servers start at the same time.
//!
//! A start keeps a CPU busy for a moment and then mostly waits. So a start holds its permit only for that moment: a
//! start that takes long, or hangs, continues without a permit.
//!
//! Background starts, for which no caller waits, have a few permits of their own, and wait until no caller waits for a
//! start.
//!
//! Invariant: a server's wait depends only on the length of the queue before it, not on starts that hang. No caller
//! waits behind a start in the background.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};

/// How long a start may hold its permit.
const START_PERMIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How many servers start in the background at the same time.
const MAX_BACKGROUND_STARTS: usize = 2;

#[derive(Debug)]
pub struct StartLimiter {
    permits: Arc<Semaphore>,
    /// The number of permits, once the permits to remove have been returned.
    count: Mutex<usize>,
    background_permits: Arc<Semaphore>,
    /// The number of starts that have a permit or wait for one, without background starts.
    foreground_starts: watch::Sender<usize>,
}

/// Counts as a start in the foreground as long as it lives.
struct ForegroundStart<'a>(&'a StartLimiter);

impl Drop for ForegroundStart<'_> {
    fn drop(&mut self) {
        self.0.foreground_starts.send_modify(|starts| *starts -= 1);
    }
}

impl StartLimiter {
    pub fn new(count: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(count)),
            count: Mutex::new(count),
            background_permits: Arc::new(Semaphore::new(MAX_BACKGROUND_STARTS)),
            foreground_starts: watch::Sender::new(0),
        }
    }

    /// Sets the number of concurrent starts.
    pub fn set_limit(&self, count: usize) {
        let mut current = self.count.lock();
        if count > *current {
            self.permits.add_permits(count - *current);
        } else if let Ok(fewer) = u32::try_from(*current - count) {
            // Permits in use are removed when they are returned.
            if let Ok(free) = self.permits.try_acquire_many(fewer) {
                free.forget();
            } else {
                let surplus = Arc::clone(&self.permits).acquire_many_owned(fewer);
                tokio::spawn(async move { surplus.await.map(OwnedSemaphorePermit::forget) });
            }
        }
        *current = count;
    }

    /// Runs `start` with a permit. Calls `on_wait` first if no permit is free.
    pub(super) async fn run_start<T>(
        &self,
        on_wait: impl FnOnce(),
        start: impl Future<Output = T>,
    ) -> T {
        self.foreground_starts.send_modify(|starts| *starts += 1);
        let counted = ForegroundStart(self);
        let permit = if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            Some(permit)
        } else {
            on_wait();
            // The semaphore is never closed.
            Arc::clone(&self.permits).acquire_owned().await.ok()
        };
        run_with_permit((permit, counted), start).await
    }

    /// Waits for the permit of a start in the background.
    pub(super) async fn background_permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.background_permits).acquire_owned().await;
        let mut foreground_starts = self.foreground_starts.subscribe();
        // The sender lives as long as `self`.
        drop(foreground_starts.wait_for(|starts| *starts == 0).await);
        permit.ok()
    }
}

/// Runs `start`, and drops the permit if it takes long.
pub(super) async fn run_with_permit<T, P>(permit: P, start: impl Future<Output = T>) -> T {
    let mut start = std::pin::pin!(start);
    if let Ok(outcome) = timeout(START_PERMIT_TIMEOUT, &mut start).await {
        outcome
    } else {
        drop(permit);
        start.await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::time::{Instant, sleep};

    use super::*;

    async fn most_at_once(starts: &StartLimiter, count: usize) -> usize {
        let now = AtomicUsize::new(0);
        let most = AtomicUsize::new(0);
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
        let ((), (), started) = tokio::join!(hanging(), hanging(), good);
        assert_eq!(waited.into_inner(), 1);
        assert!(started <= START_PERMIT_TIMEOUT, "{started:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn starts_in_the_background_are_few_and_delay_no_other() {
        let starts = StartLimiter::new(1);
        let began = Instant::now();
        let background = || async {
            let permit = starts.background_permit().await;
            run_with_permit(permit, sleep(Duration::from_secs(1))).await;
            began.elapsed().as_secs()
        };
        let foreground = |at: u64| {
            let starts = &starts;
            async move {
                sleep(Duration::from_millis(at)).await;
                let waited = || panic!("a caller waited behind a start in the background");
                starts
                    .run_start(waited, sleep(Duration::from_secs(4)))
                    .await;
            }
        };
        let (one, two, three, four, ()) = tokio::join!(
            background(),
            background(),
            background(),
            background(),
            foreground(500)
        );
        // The first two had begun before the foreground start, which the other starts let pass.
        assert_eq!([one, two, three, four], [1, 1, 5, 5]);
    }
}
