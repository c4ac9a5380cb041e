//! The expiry of a list, from its server's `ttlMs`.
//!
//! Invariant: an expired list is fetched only on demand, and at most once a second, however short its TTL.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The shortest TTL that is honored.
const MIN_LIST_TTL: Duration = Duration::from_secs(1);

/// The expiry of one list.
#[derive(Debug, Default)]
pub(crate) struct ListExpiry(Mutex<Option<Instant>>);

impl ListExpiry {
    /// For a list that was just received. Without a TTL the list is valid until the server announces a change.
    pub(crate) fn new(ttl: Option<Duration>) -> Self {
        Self(Mutex::new(deadline_of(ttl)))
    }

    pub(crate) fn renew(&self, ttl: Option<Duration>) {
        *self.0.lock() = deadline_of(ttl);
    }

    /// Returns true if the list has expired. A caller that gets `true` must fetch the list, because others get `false`
    /// for a while.
    pub(crate) fn claim_expired(&self) -> bool {
        let mut deadline = self.0.lock();
        let expired = deadline.is_some_and(|deadline| deadline <= Instant::now());
        if expired {
            *deadline = Some(Instant::now() + MIN_LIST_TTL);
        }
        expired
    }
}

fn deadline_of(ttl: Option<Duration>) -> Option<Instant> {
    Instant::now().checked_add(ttl?.max(MIN_LIST_TTL))
}

/// The shorter TTL of two pages of a list.
pub(crate) fn shorter_ttl(one: Option<Duration>, two: Option<Duration>) -> Option<Duration> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn expired_list_is_claimed_at_most_once_a_second() {
        let for_ever = ListExpiry::new(None);
        let short = ListExpiry::new(Some(Duration::ZERO));
        let long = ListExpiry::new(Some(Duration::from_mins(1)));
        let step = |seconds: u64| tokio::time::advance(Duration::from_millis(seconds * 1000 + 1));
        assert!(!short.claim_expired());
        step(1).await;
        assert!(short.claim_expired());
        assert!(!short.claim_expired(), "somebody asks already");
        step(1).await;
        assert!(short.claim_expired() && !long.claim_expired());
        step(58).await;
        assert!(long.claim_expired() && !for_ever.claim_expired());
        long.renew(None);
        step(600).await;
        assert!(!long.claim_expired() && !for_ever.claim_expired());
    }
}
