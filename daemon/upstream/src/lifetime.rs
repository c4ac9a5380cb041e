//! How long a list is good, as its server says (`ttlMs`).
//!
//! Invariant: a server is asked again at need only, and at most once a second, however short the life
//! that it gives its lists.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The shortest that is honoured.
const SHORTEST: Duration = Duration::from_secs(1);

/// Of one list.
#[derive(Debug)]
pub(super) struct Lifetime(Mutex<Option<Instant>>);

impl Lifetime {
    /// It was given now. Without a time it is good until the server says otherwise.
    pub(super) fn new(ttl: Option<Duration>) -> Self {
        Self(Mutex::new(due(ttl)))
    }

    pub(super) fn begin(&self, ttl: Option<Duration>) {
        *self.due() = due(ttl);
    }

    /// Whether it is to be asked for again. Whoever hears so has to do it: others hear nothing of it for a
    /// while.
    pub(super) fn is_over(&self) -> bool {
        let mut due = self.due();
        let over = due.is_some_and(|due| due <= Instant::now());
        if over {
            *due = Some(Instant::now() + SHORTEST);
        }
        over
    }

    fn due(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn due(ttl: Option<Duration>) -> Option<Instant> {
    Instant::now().checked_add(ttl?.max(SHORTEST))
}

/// The shorter of what two pages of a list say.
pub(super) fn shorter(one: Option<Duration>, two: Option<Duration>) -> Option<Duration> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_list_is_asked_for_again_when_its_time_is_over_and_once_a_second_at_most() {
        let for_ever = Lifetime::new(None);
        let short = Lifetime::new(Some(Duration::ZERO));
        let long = Lifetime::new(Some(Duration::from_secs(60)));
        let step = |seconds: u64| tokio::time::advance(Duration::from_millis(seconds * 1000 + 1));
        assert!(!short.is_over());
        step(1).await;
        assert!(short.is_over());
        assert!(!short.is_over(), "somebody asks already");
        step(1).await;
        assert!(short.is_over() && !long.is_over());
        step(58).await;
        assert!(long.is_over() && !for_ever.is_over());
        long.begin(None);
        step(600).await;
        assert!(!long.is_over() && !for_ever.is_over());
    }
}
