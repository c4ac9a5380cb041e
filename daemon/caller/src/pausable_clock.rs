//! A clock that is paused while a client is asked.
//!
//! Invariant: a limit that is measured by a [`PausableClock`] never counts the time in which it was paused.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

#[derive(Debug, Default)]
pub struct PausableClock(watch::Sender<ClockState>);

#[derive(Clone, Copy, Debug, Default)]
struct ClockState {
    /// Pauses for any reason.
    held: PauseTimer,
    /// Pauses for questions of servers only.
    asked: PauseTimer,
}

/// The total time of pauses that may overlap. Overlapping pauses count once.
#[derive(Clone, Copy, Debug, Default)]
struct PauseTimer {
    /// The number of current pauses.
    open: usize,
    since: Option<Instant>,
    /// The total time of the pauses that have ended.
    before: Duration,
}

impl PauseTimer {
    fn begin(&mut self) {
        self.open += 1;
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            let since = self.since.take();
            self.before += since.map(|since| since.elapsed()).unwrap_or_default();
        }
    }

    fn total_time(&self) -> Duration {
        let now = self.since.map(|since| since.elapsed());
        self.before + now.unwrap_or_default()
    }
}

/// A moment on a [`PausableClock`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClockMark {
    at: Instant,
    stood: Duration,
}

impl PausableClock {
    /// How long the clock was paused so far.
    pub fn paused_for(&self) -> Duration {
        self.0.borrow().held.total_time()
    }

    /// How long the clock was paused for questions of servers. Concurrent questions count once.
    pub fn paused_for_questions(&self) -> Duration {
        self.0.borrow().asked.total_time()
    }

    /// The current moment, for [`PausableClock::wait_until_elapsed_since`].
    pub fn mark(&self) -> ClockMark {
        ClockMark {
            at: Instant::now(),
            stood: self.paused_for(),
        }
    }

    /// Resolves when `within` has passed on this clock since `begun`, before which it must not have been paused.
    pub async fn wait_until_elapsed(&self, begun: Instant, within: Duration) {
        let stood = Duration::ZERO;
        self.wait_until_elapsed_since(ClockMark { at: begun, stood }, within)
            .await;
    }

    /// Resolves when `within` has passed on this clock since `mark`.
    pub async fn wait_until_elapsed_since(&self, mark: ClockMark, within: Duration) {
        let mut state = self.0.subscribe();
        loop {
            let PauseTimer { open, before, .. } = state.borrow_and_update().held;
            let stood = before.saturating_sub(mark.stood);
            let Some(due) = mark.at.checked_add(within.saturating_add(stood)) else {
                return std::future::pending().await;
            };
            let running = open == 0;
            tokio::select! {
                // The sender lives as long as `self`.
                _ = state.changed() => {}
                () = sleep_until(due), if running => return,
            }
        }
    }

    /// Pauses the clock until the guard is dropped.
    pub fn pause(self: &Arc<Self>) -> ClockPauseGuard {
        self.0.send_modify(|state| state.held.begin());
        ClockPauseGuard {
            clock: Arc::clone(self),
            is_question: false,
        }
    }

    /// Pauses the clock for a question of a server, which [`Self::paused_for_questions`] counts.
    pub fn pause_for_question(self: &Arc<Self>) -> ClockPauseGuard {
        self.0.send_modify(|state| {
            state.held.begin();
            state.asked.begin();
        });
        ClockPauseGuard {
            clock: Arc::clone(self),
            is_question: true,
        }
    }
}

/// Pauses its clock as long as it lives.
#[derive(Debug)]
pub struct ClockPauseGuard {
    clock: Arc<PausableClock>,
    is_question: bool,
}

impl Drop for ClockPauseGuard {
    fn drop(&mut self) {
        self.clock.0.send_modify(|state| {
            state.held.end();
            if self.is_question {
                state.asked.end();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn paused_time_is_not_counted() {
        let clock = Arc::new(PausableClock::default());
        let begun = Instant::now();
        let within = Duration::from_secs(10);
        let over = {
            let clock = Arc::clone(&clock);
            tokio::spawn(async move { clock.wait_until_elapsed(begun, within).await })
        };
        tokio::time::sleep(Duration::from_secs(4)).await;
        let first = clock.pause();
        let second = clock.pause();
        tokio::time::sleep(Duration::from_mins(1)).await;
        drop(first);
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(clock.paused_for(), Duration::from_mins(2));
        assert!(!over.is_finished());
        drop(second);
        over.await.unwrap();
        assert_eq!(begun.elapsed(), Duration::from_secs(130));
    }

    #[tokio::test(start_paused = true)]
    async fn questions_are_counted_separately_and_concurrent_ones_once() {
        let clock = Arc::new(PausableClock::default());
        let approval = clock.pause();
        tokio::time::advance(Duration::from_secs(5)).await;
        let questions = [clock.pause_for_question(), clock.pause_for_question()];
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(clock.paused_for_questions(), Duration::from_secs(3));
        drop(questions);
        tokio::time::advance(Duration::from_secs(2)).await;
        drop(approval);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(clock.paused_for_questions(), Duration::from_secs(3));
        assert_eq!(clock.paused_for(), Duration::from_secs(10));
    }
}
