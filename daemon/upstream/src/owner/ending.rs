//! What becomes of a slot whose session has ended, and the end of the slot itself.
//!
//! Invariant: the end of a session changes nothing for the one that has taken its place.

use std::sync::Arc;

use tokio::{sync::mpsc, time::Instant};

use super::{
    super::{
        breaker::LIVED,
        slot::{Event, Over, Seen},
    },
    Owner, Phase,
};

impl Owner {
    pub(super) fn over(&mut self, over: &Over) {
        match &self.phase {
            Phase::Open(now, _) | Phase::Reopening(_, now, _)
                if Arc::ptr_eq(now, &over.session) => {}
            // Another one has taken its place.
            _ => return,
        }
        self.open.store(None);
        let (waiters, session, since) = match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Open(session, since) => (Vec::new(), session, since),
            Phase::Reopening(waiters, session, since) => (waiters, session, since),
            other => {
                self.phase = other;
                return;
            }
        };
        self.family.over(&session);
        let (now, lived) = (Instant::now(), since.elapsed() >= LIVED);
        let until = match over.asked || lived || session.health.is_useful() {
            true => {
                self.see(|seen| {
                    *seen = Seen {
                        reason: Some(over.reason.clone()),
                        ..Seen::default()
                    };
                });
                match (over.asked, lived) {
                    (_, true) => {
                        self.breaker.reset();
                        now
                    }
                    (true, false) => now,
                    (false, false) => self.breaker.ended_early(now),
                }
            }
            false => self.failed(&over.reason),
        };
        match waiters.is_empty() {
            true => self.rest_until(until),
            false => self.approach(waiters),
        }
    }

    /// The end: whoever waits is told, and the session is closed with its last call.
    pub(super) async fn retire(
        mut self,
        why: &'static str,
        now: bool,
        mut events: mpsc::UnboundedReceiver<Event>,
    ) {
        events.close();
        let mut session = match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Open(session, _) | Phase::Reopening(_, session, _) => Some(session),
            // Nobody waits for it any more: what was started ends now.
            Phase::Opening(_) => {
                if let Some(opening) = self.opening.take() {
                    opening.abort();
                }
                self.breaker.abandoned();
                None
            }
            Phase::Resting(..) | Phase::Closed => None,
        };
        while let Some(event) = events.recv().await {
            if let Event::Opened(Ok(opened)) = event {
                session = Some(opened);
            }
        }
        let Some(session) = session else { return };
        self.open.store(None);
        self.family.over(&session);
        if !now {
            session.idle().await;
        }
        session.close(why);
        session.ended().await;
    }
}
