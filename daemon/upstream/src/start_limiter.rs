//! How many servers start at the same time.
//!
//! A start keeps a processor busy for a moment and then mostly waits. So a start has its place for that
//! moment only: one that takes long, or hangs, goes on without a place.
//! Invariant: no server waits longer than the line before it is long, however the others fare.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// How long a start may have its place.
const START_PERMIT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct StartLimiter {
    places: Arc<Semaphore>,
    /// How many there are, or will be once some that are taken come back.
    count: Mutex<usize>,
}

impl StartLimiter {
    pub fn new(count: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(count)),
            count: Mutex::new(count),
        }
    }

    /// From now on so many.
    pub fn set_limit(&self, count: usize) {
        let mut known = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if count > *known {
            self.places.add_permits(count - *known);
        } else if let Ok(fewer) = u32::try_from(*known - count) {
            // Those that are taken now are kept back when they are given back.
            match self.places.try_acquire_many(fewer) {
                Ok(free) => free.forget(),
                Err(_) => {
                    let taken = Arc::clone(&self.places).acquire_many_owned(fewer);
                    tokio::spawn(async move { taken.await.map(OwnedSemaphorePermit::forget) });
                }
            }
        }
        *known = count;
    }

    /// Starts something when it is its turn; `waits` is called if that is not now.
    pub(super) async fn run_start<T>(
        &self,
        waits: impl FnOnce(),
        start: impl Future<Output = T>,
    ) -> T {
        let place = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => Some(place),
            Err(_) => {
                waits();
                // It is never closed.
                Arc::clone(&self.places).acquire_owned().await.ok()
            }
        };
        let mut start = std::pin::pin!(start);
        match timeout(START_PERMIT_TIMEOUT, &mut start).await {
            Ok(outcome) => outcome,
            Err(_) => {
                drop::<Option<OwnedSemaphorePermit>>(place);
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
    async fn so_many_start_at_once_and_no_more() {
        let starts = StartLimiter::new(4);
        assert_eq!(most_at_once(&starts, 20).await, 4);
        starts.set_limit(2);
        assert_eq!(most_at_once(&starts, 20).await, 2);
        starts.set_limit(7);
        assert_eq!(most_at_once(&starts, 20).await, 7);
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_hang_hold_up_nobody_for_longer_than_a_moment() {
        let starts = StartLimiter::new(2);
        let begun = Instant::now();
        let waited = AtomicUsize::new(0);
        let hanging = || starts.run_start(|| {}, sleep(START_PERMIT_TIMEOUT * 100));
        let good = starts.run_start(
            || {
                waited.fetch_add(1, Ordering::SeqCst);
            },
            async { begun.elapsed() },
        );
        let (_, _, started) = tokio::join!(hanging(), hanging(), good);
        assert_eq!(waited.into_inner(), 1);
        assert!(started <= START_PERMIT_TIMEOUT, "{started:?}");
    }
}
