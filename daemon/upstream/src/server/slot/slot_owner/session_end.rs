//! Handles the end of a slot's session, and the end of the slot itself.
//!
//! A process that was in use is started again in the background, once for each session that was called. After that the
//! process stays down until the next call.
//!
//! Invariant: the end of a session does not affect the session that has replaced it.

use std::sync::Arc;

use tokio::{sync::mpsc, time::Instant};

use super::{SlotOwner, SlotPhase};
use crate::server::{
    circuit_breaker::STABLE_SESSION_AGE,
    slot::{
        slot_event::{SessionEnd, SlotEvent},
        slot_status::SlotStatus,
    },
};
use mux_settings::{ServerEndpoint, StartMode};

const RESTART_REASON: &str = "it has ended while it was in use, and starts again in the background";

impl SlotOwner {
    pub(super) fn handle_session_end(&mut self, end: &SessionEnd) {
        match &self.phase {
            SlotPhase::Open(now, _) | SlotPhase::Reopening(_, now, _)
                if Arc::ptr_eq(now, &end.session) => {}
            // Another session has replaced this session.
            _ => return,
        }
        let (waiters, session, since) = match std::mem::replace(&mut self.phase, SlotPhase::Closed)
        {
            SlotPhase::Open(session, since) => (Vec::new(), session, since),
            SlotPhase::Reopening(waiters, session, since) => (waiters, session, since),
            other => {
                self.phase = other;
                return;
            }
        };
        self.slot.server_shared.session_over(&session);
        let now = Instant::now();
        let lived = since.elapsed() >= STABLE_SESSION_AGE;
        let until = if end.closed_by_daemon || lived || session.has_answered() {
            self.update_status(|status| {
                *status = SlotStatus {
                    reason: Some(end.reason.clone()),
                    ..SlotStatus::default()
                };
            });
            match (end.closed_by_daemon, lived) {
                (_, true) => {
                    self.breaker.reset();
                    now
                }
                (true, false) => now,
                (false, false) => self.breaker.record_early_end(now),
            }
        } else {
            self.record_start_failure(&end.reason, None)
        };
        // After the status, because no reader may find a status of a session that is gone.
        self.slot.open.store(None);
        let was_in_use = self.slot.usage.end_session() && !end.closed_by_daemon;
        if waiters.is_empty() && !(was_in_use && self.restarts_in_background()) {
            self.back_off_until(until);
            return;
        }
        self.background_reason = Some(RESTART_REASON);
        self.open_or_back_off(waiters);
    }

    fn restarts_in_background(&self) -> bool {
        let is_process = matches!(self.definition.endpoint, ServerEndpoint::Process(_));
        is_process && self.definition.start != StartMode::Lazy
    }

    /// Ends the slot: waiters get an error, and the session is closed with its last call or now.
    pub(super) async fn retire(
        mut self,
        why: &'static str,
        now: bool,
        mut events: mpsc::UnboundedReceiver<SlotEvent>,
    ) {
        events.close();
        let mut session = match std::mem::replace(&mut self.phase, SlotPhase::Closed) {
            SlotPhase::Open(session, _) | SlotPhase::Reopening(_, session, _) => Some(session),
            // There are no callers any longer: the start is aborted.
            SlotPhase::Opening(_) => {
                if let Some(start_task) = self.start_task.take() {
                    start_task.abort();
                }
                self.breaker.record_abandoned();
                None
            }
            SlotPhase::BackingOff(..) | SlotPhase::Closed => None,
        };
        while let Some(event) = events.recv().await {
            if let SlotEvent::Opened(Ok(opened)) = event {
                session = Some(opened);
            }
        }
        let Some(session) = session else { return };
        self.slot.open.store(None);
        self.slot.server_shared.session_over(&session);
        if !now {
            session.wait_until_idle().await;
        }
        session.close(why);
        session.wait_stopped().await;
    }
}
