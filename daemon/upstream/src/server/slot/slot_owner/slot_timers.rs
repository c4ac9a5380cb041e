//! The timers of a slot's owner: retries after a backoff, and closing unused sessions.
//!
//! Invariant: a session with a call in flight or with resource subscriptions is in use.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{SlotOwner, SlotPhase};
use crate::sharing::SessionKey;

/// A session of a workspace, a client or a run is closed after this time without use, unless its entry sets another
/// time.
const DEFAULT_IDLE_CLOSE_TIMEOUT: Duration = Duration::from_mins(30);

impl SlotOwner {
    /// The time of the next timer.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match &self.phase {
            SlotPhase::BackingOff(_, until) => Some(*until),
            SlotPhase::Open(..) => {
                let limit = self.idle_close_limit()?;
                // A call in flight restarts the limit.
                let since = self.slot.usage.idle_since().unwrap_or_else(Instant::now);
                since.checked_add(limit)
            }
            SlotPhase::Closed | SlotPhase::Opening(_) | SlotPhase::Reopening(..) => None,
        }
    }

    pub(super) fn handle_deadline(&mut self) {
        match &mut self.phase {
            SlotPhase::BackingOff(waiters, _) => {
                let waiters = std::mem::take(waiters);
                self.open_or_back_off(waiters);
            }
            SlotPhase::Open(session, _) => {
                let session = Arc::clone(session);
                let limit = self
                    .idle_close_limit()
                    .unwrap_or(DEFAULT_IDLE_CLOSE_TIMEOUT);
                let unused = self.slot.usage.idle_since();
                let expired = unused.is_some_and(|since| since.elapsed() >= limit);
                if expired
                    && !self.slot.slot_shared.subscribers.has_subscribers()
                    && session.is_open()
                {
                    self.keep_open = false;
                    let limit = humantime::format_duration(limit);
                    session.close(&format!("closed after {limit} without a call (idle_close)"));
                } else if expired {
                    // The session has subscriptions, or is ending.
                    self.slot.usage.touch();
                }
            }
            _ => {}
        }
    }

    fn idle_close_limit(&self) -> Option<Duration> {
        let by_key = || match self.slot.scope.key() {
            SessionKey::User => None,
            SessionKey::Workspace(_) | SessionKey::Client(_) | SessionKey::Run(_) => {
                Some(DEFAULT_IDLE_CLOSE_TIMEOUT)
            }
        };
        self.definition.idle_close.or_else(by_key)
    }
}
