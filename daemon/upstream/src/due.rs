//! What the owner of a slot does without having been asked: it tries again after a rest, and closes what nobody
//! uses.
//!
//! Invariant: a session with a call on its way, or with somebody who follows its resources, is in use.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    key::Key,
    owner::{Owner, Phase},
};

/// A session of a workspace, a client or a run that nobody has used for so long is closed, unless its entry
/// says otherwise.
const UNUSED: Duration = Duration::from_secs(30 * 60);

impl Owner {
    /// When there is something to look after without an event.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Resting(_, until) => Some(*until),
            Phase::Open(..) => {
                let limit = self.idle_close()?;
                // While something is on its way, its end is not known.
                let since = self.usage.idle_since().unwrap_or_else(Instant::now);
                since.checked_add(limit)
            }
            Phase::Closed | Phase::Opening(_) | Phase::Reopening(..) => None,
        }
    }

    pub(super) fn look(&mut self) {
        match &mut self.phase {
            Phase::Resting(waiters, _) => {
                let waiters = std::mem::take(waiters);
                self.approach(waiters);
            }
            Phase::Open(session, _) => {
                let session = Arc::clone(session);
                let limit = self.idle_close().unwrap_or(UNUSED);
                let unused = self.usage.idle_since();
                let over = unused.is_some_and(|since| since.elapsed() >= limit);
                if over && !self.beside.subscribers.any() && session.is_open() {
                    self.wanted = false;
                    let limit = humantime::format_duration(limit);
                    session.close(&format!("closed after {limit} without a call (idle_close)"));
                } else if over {
                    // Followed, or ending.
                    self.usage.touch();
                }
            }
            _ => {}
        }
    }

    fn idle_close(&self) -> Option<Duration> {
        let by_key = || match self.tenant.key() {
            Key::User => None,
            Key::Workspace(_) | Key::Client(_) | Key::Run(_) => Some(UNUSED),
        };
        self.definition.idle_close.or_else(by_key)
    }
}
