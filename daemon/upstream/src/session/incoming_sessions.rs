//! Sessions that the previous daemon hands over, until their slots open.
//!
//! Invariant: the wait for an announced session is bounded, and an unclaimed session is stopped.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout_at},
};

use super::session_handover::{HandedSession, HandoverKey};

/// How long a starting slot waits for an announced session.
const INCOMING_SESSION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an arrived session waits to be claimed.
const UNCLAIMED_SESSION_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default)]
pub struct IncomingSessions(Arc<IncomingSessionsInner>);

#[derive(Debug, Default)]
struct IncomingSessionsInner {
    sessions: Mutex<HashMap<HandoverKey, Option<HandedSession>>>,
    changed: Notify,
}

impl IncomingSessions {
    /// Sets the sessions to expect.
    pub fn expect_sessions(&self, sessions: Vec<HandoverKey>) {
        let sessions = sessions.into_iter().map(|key| (key, None));
        *self.0.sessions.lock() = sessions.collect();
        self.0.changed.notify_waiters();
    }

    /// Withdraws a session that will not arrive, or not in time.
    pub fn withdraw_session(&self, key: &HandoverKey) {
        let mut sessions = self.0.sessions.lock();
        if sessions.get(key).is_some_and(Option::is_none) {
            sessions.remove(key);
        }
        drop(sessions);
        self.0.changed.notify_waiters();
    }

    /// Announces that no more sessions will arrive.
    pub fn end_announcements(&self) {
        self.0.sessions.lock().retain(|_, handed| handed.is_some());
        self.0.changed.notify_waiters();
    }

    pub(crate) fn add_arrived(&self, handed: HandedSession) {
        let key = handed.state.place.clone();
        let id = handed.state.id;
        let before = self.0.sessions.lock().insert(key.clone(), Some(handed));
        self.0.changed.notify_waiters();
        if let Some(before) = before.flatten() {
            before.stop_process();
        }
        let this = self.clone();
        tokio::spawn(async move {
            sleep(UNCLAIMED_SESSION_TIMEOUT).await;
            let is_it =
                |handed: &Option<HandedSession>| handed.as_ref().is_some_and(|h| h.state.id == id);
            let mut sessions = this.0.sessions.lock();
            let unclaimed = sessions.get(&key).is_some_and(is_it);
            if let Some(handed) = unclaimed.then(|| sessions.remove(&key)).flatten().flatten() {
                handed.stop_process();
            }
        });
    }

    /// The session for this slot, once it arrives. `None` if no session is expected.
    pub(crate) async fn take_arrived(&self, key: &HandoverKey) -> Option<HandedSession> {
        let until = Instant::now() + INCOMING_SESSION_TIMEOUT;
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            {
                let mut sessions = self.0.sessions.lock();
                if let Some(handed) = sessions.remove(key)? {
                    return Some(handed);
                }
                sessions.insert(key.clone(), None);
            }
            if timeout_at(until, changed).await.is_err() {
                // The next caller does not wait again.
                self.withdraw_session(key);
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(server: &str) -> HandoverKey {
        HandoverKey {
            server: server.into(),
            workspace: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn take_arrived_waits_only_for_announced_sessions_and_times_out() {
        let awaited = IncomingSessions::default();
        let started = Instant::now();
        assert!(awaited.take_arrived(&place("a")).await.is_none());
        assert_eq!(started.elapsed(), Duration::ZERO);
        awaited.expect_sessions(vec![place("a"), place("b")]);
        let a = place("a");
        let (none, ()) = tokio::join!(awaited.take_arrived(&a), async {
            sleep(Duration::from_secs(1)).await;
            awaited.withdraw_session(&place("a"));
        });
        assert!(none.is_none());
        assert_eq!(started.elapsed(), Duration::from_secs(1));
        assert!(awaited.take_arrived(&place("b")).await.is_none());
        assert_eq!(
            started.elapsed(),
            Duration::from_secs(1) + INCOMING_SESSION_TIMEOUT
        );
        assert!(awaited.take_arrived(&place("b")).await.is_none());
        assert_eq!(
            started.elapsed(),
            Duration::from_secs(1) + INCOMING_SESSION_TIMEOUT
        );
    }
}
