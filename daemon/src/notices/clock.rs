//! Time that stands still while somebody is asked.
//!
//! Invariant: a limit that is kept by a [`Clock`] never counts the time in which it was held.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

#[derive(Debug, Default)]
pub struct Clock(watch::Sender<State>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// How many hold it.
    held: usize,
    since: Option<Instant>,
    /// What it stood before.
    stood: Duration,
}

/// A moment, by a clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mark {
    at: Instant,
    stood: Duration,
}

impl Clock {
    /// How long it has stood still so far.
    pub fn stood(&self) -> Duration {
        let state = *self.0.borrow();
        let now = state.since.map(|since| since.elapsed());
        state.stood + now.unwrap_or_default()
    }

    /// Now, for [`Clock::over_since`].
    pub fn mark(&self) -> Mark {
        Mark {
            at: Instant::now(),
            stood: self.stood(),
        }
    }

    /// Resolves when so much time has been counted since `begun`.
    pub async fn over(&self, begun: Instant, within: Duration) {
        let stood = Duration::ZERO;
        self.over_since(Mark { at: begun, stood }, within).await;
    }

    /// Resolves when so much time has been counted since then.
    pub async fn over_since(&self, mark: Mark, within: Duration) {
        let mut state = self.0.subscribe();
        loop {
            let State { held, stood, .. } = *state.borrow_and_update();
            let stood = stood.saturating_sub(mark.stood);
            let Some(due) = mark.at.checked_add(within.saturating_add(stood)) else {
                return std::future::pending().await;
            };
            let running = held == 0;
            tokio::select! {
                // The sender lives as long as `self`.
                _ = state.changed() => {}
                () = sleep_until(due), if running => return,
            }
        }
    }

    /// Holds it until the guard is dropped.
    pub fn hold(self: &Arc<Self>) -> Standing {
        self.0.send_modify(|state| {
            state.held += 1;
            state.since.get_or_insert_with(Instant::now);
        });
        Standing(Arc::clone(self))
    }
}

/// As long as it lives, its clock stands still.
#[derive(Debug)]
pub struct Standing(Arc<Clock>);

impl Drop for Standing {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| {
            state.held -= 1;
            if state.held == 0 {
                let since = state.since.take();
                state.stood += since.map(|since| since.elapsed()).unwrap_or_default();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_that_stood_still_is_not_counted() {
        let clock = Arc::new(Clock::default());
        let begun = Instant::now();
        let within = Duration::from_secs(10);
        let over = {
            let clock = Arc::clone(&clock);
            tokio::spawn(async move { clock.over(begun, within).await })
        };
        tokio::time::sleep(Duration::from_secs(4)).await;
        let (first, second) = (clock.hold(), clock.hold());
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(first);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(clock.stood(), Duration::from_secs(120));
        assert!(!over.is_finished());
        drop(second);
        over.await.unwrap();
        assert_eq!(begun.elapsed(), Duration::from_secs(130));
    }
}
