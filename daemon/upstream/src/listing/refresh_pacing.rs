//! Limits how often a list is fetched again if its server constantly announces changes.
//!
//! Invariant: a list is fetched at most once in [`MIN_REFRESH_INTERVAL`], and less often while it stays the same.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The shortest interval between two refreshes.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// The longest interval between two refreshes of a list that stays the same.
const MAX_REFRESH_INTERVAL: Duration = Duration::from_mins(1);
/// From this interval on, announcements of the server count as noise.
const NOISE_INTERVAL: Duration = Duration::from_secs(4);

/// The interval between refreshes of one list.
#[derive(Debug)]
pub(crate) struct RefreshPacing {
    last: Option<Instant>,
    interval: Duration,
    /// Set once the list was unchanged since the last refresh began.
    unchanged: bool,
}

impl Default for RefreshPacing {
    fn default() -> Self {
        Self {
            last: None,
            interval: MIN_REFRESH_INTERVAL,
            unchanged: false,
        }
    }
}

impl RefreshPacing {
    /// When the next refresh may begin.
    pub(crate) fn due(&self) -> Instant {
        let now = Instant::now();
        self.last.map_or(now, |last| now.max(last + self.interval))
    }

    /// Returns true if the server has announced several changes without changing the list.
    pub(crate) fn is_noise(&self) -> bool {
        self.interval >= NOISE_INTERVAL
    }

    /// Called after a failed refresh or a failed first list.
    pub(crate) fn postpone(&mut self) {
        self.last.get_or_insert_with(Instant::now);
    }

    pub(crate) fn begin_refresh(&mut self) {
        self.last = Some(Instant::now());
        self.unchanged = false;
    }

    /// Records whether a list that was fetched since then differs from the previous list.
    pub(crate) fn record_outcome(&mut self, changed: bool) {
        if changed {
            self.interval = MIN_REFRESH_INTERVAL;
        } else if !std::mem::replace(&mut self.unchanged, true) {
            self.interval = MAX_REFRESH_INTERVAL.min(self.interval * 2);
        }
    }
}

/// Announced changes of a list that is fetched when a client requests it. A change that comes too soon is held until it
/// is due.
#[derive(Debug, Default)]
pub(crate) struct PacedChanges {
    state: Mutex<PacedState>,
    held: Notify,
}

/// Guarded by `PacedChanges`.
#[derive(Debug, Default)]
struct PacedState {
    pacing: RefreshPacing,
    is_held: bool,
}

impl PacedChanges {
    /// Returns true if the announced change takes effect now. Otherwise [`Self::wait_for_held_change`] resolves when
    /// the change takes effect.
    pub(crate) fn announce(&self) -> bool {
        let mut state = self.state.lock();
        if state.is_held {
            return false;
        }
        if state.pacing.due() <= Instant::now() {
            state.pacing.begin_refresh();
            return true;
        }
        state.is_held = true;
        self.held.notify_one();
        false
    }

    /// Resolves when a held change takes effect.
    pub(crate) async fn wait_for_held_change(&self) {
        loop {
            let due = {
                let state = self.state.lock();
                state.is_held.then(|| state.pacing.due())
            };
            match due {
                None => self.held.notified().await,
                Some(due) => {
                    sleep_until(due).await;
                    let mut state = self.state.lock();
                    state.is_held = false;
                    state.pacing.begin_refresh();
                    return;
                }
            }
        }
    }

    /// Records whether a fetched list differs from the previous list.
    pub(crate) fn record_outcome(&self, changed: bool) {
        self.state.lock().pacing.record_outcome(changed);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn unchanged_list_is_fetched_less_and_less_often() {
        let mut pacing = RefreshPacing::default();
        let started = Instant::now();
        let mut refreshes = 0;
        while started.elapsed() < Duration::from_mins(10) {
            sleep_until(pacing.due()).await;
            pacing.begin_refresh();
            pacing.record_outcome(false);
            pacing.record_outcome(false);
            refreshes += 1;
        }
        assert!((14..=17).contains(&refreshes), "{refreshes}");
        assert!(pacing.is_noise());
        pacing.record_outcome(true);
        assert!(!pacing.is_noise());
        assert!(pacing.due() <= Instant::now() + MIN_REFRESH_INTERVAL);
    }

    #[tokio::test(start_paused = true)]
    async fn change_that_comes_too_soon_is_held_and_not_missed() {
        let changes = PacedChanges::default();
        assert!(changes.announce(), "the first one takes effect at once");
        assert!(!changes.announce() && !changes.announce());
        let mut held = std::pin::pin!(changes.wait_for_held_change());
        assert!(held.as_mut().now_or_never().is_none());
        tokio::time::advance(MIN_REFRESH_INTERVAL).await;
        held.await;
        let mut none = std::pin::pin!(changes.wait_for_held_change());
        assert!(none.as_mut().now_or_never().is_none(), "two are one");
        tokio::time::advance(MIN_REFRESH_INTERVAL).await;
        assert!(changes.announce());
    }
}
