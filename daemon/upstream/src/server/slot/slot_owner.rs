//! The task that owns one slot's state.
//!
//! Invariant: only this task opens or closes the slot's session, and only if the circuit breaker allows it.

mod session_end;
mod slot_timers;

use std::{path::PathBuf, sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use mux_wire::Fault;
use parking_lot::Mutex;
use tokio::{
    sync::mpsc,
    task::AbortHandle,
    time::{Instant, sleep_until},
};
use tracing::{Instrument, info, warn};

use super::{
    resource_subscriptions::SubscriptionCommand,
    slot_event::{SessionEnd, SessionWaiter, SlotEvent},
    slot_status::{SlotStatus, UpstreamState},
    slot_usage::SlotUsage,
    start_queue,
};
use crate::{
    link::OpenError,
    server::{
        circuit_breaker::{BreakerDecision, CircuitBreaker},
        server_shared::ServerShared,
        unavailable::{self, breaker_open_text},
    },
    session::{Session, watch_liveness},
    sharing::{SessionScope, SlotShared},
};
use mux_caller::ListChanges;
use mux_settings::{ServerDefinition, ShareMode};

const SERVER_REMOVED_REASON: &str = "the server was removed or changed";

pub(crate) enum SlotPhase {
    Closed,
    /// It failed; at this time the task tries again for these waiters.
    Resting(Vec<SessionWaiter>, Instant),
    Opening(Vec<SessionWaiter>),
    Open(Arc<Session>, Instant),
    /// The old session is being closed, to open a new one for these waiters.
    Reopening(Vec<SessionWaiter>, Arc<Session>, Instant),
}

/// The task that owns one slot's state.
pub(crate) struct SlotOwner {
    pub(crate) family: Arc<ServerShared>,
    /// The definition with the workspace of the slot's key filled in.
    pub(crate) definition: Arc<ServerDefinition>,
    pub(crate) tenant: Arc<SessionScope>,
    pub(crate) mailbox: mpsc::UnboundedSender<SlotEvent>,
    pub(crate) open: Arc<ArcSwapOption<Session>>,
    pub(crate) beside: Arc<SlotShared>,
    /// Commands to the task that owns the subscriptions.
    pub(crate) wishes: mpsc::UnboundedSender<SubscriptionCommand>,
    pub(crate) seen: Arc<Mutex<SlotStatus>>,
    pub(crate) usage: Arc<SlotUsage>,
    pub(crate) breaker: Arc<CircuitBreaker>,
    pub(crate) phase: SlotPhase,
    /// Whether the session is pinged: a remote server does nothing between requests.
    pub(crate) probed: bool,
    /// Whether the session is kept open without callers.
    pub(crate) wanted: bool,
    /// The current start, or the last one.
    pub(crate) opening: Option<AbortHandle>,
}

impl SlotOwner {
    pub(crate) async fn run(mut self, mut events: mpsc::UnboundedReceiver<SlotEvent>) {
        loop {
            let due = self.next_deadline();
            let event = tokio::select! {
                event = events.recv() => event,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.handle_deadline();
                    continue;
                }
            };
            match event {
                Some(SlotEvent::Acquire { waiter, workspace }) => self.acquire(waiter, workspace),
                Some(SlotEvent::Wake) => {
                    self.wanted = true;
                    if matches!(self.phase, SlotPhase::Closed) {
                        self.open_or_back_off(Vec::new());
                    }
                }
                Some(SlotEvent::Handed) => {
                    if matches!(self.phase, SlotPhase::Closed) {
                        self.open_or_back_off(Vec::new());
                    }
                }
                Some(SlotEvent::Restart(waiter)) => self.restart(waiter),
                Some(SlotEvent::Opened(outcome)) => self.handle_opened(outcome),
                Some(SlotEvent::Over(over)) => self.over(&over),
                // The next deadline may have changed.
                Some(SlotEvent::Moved) => {}
                Some(SlotEvent::Retire { why, now, done }) => {
                    self.retire(why, now, events).await;
                    if let Some(done) = done {
                        // The caller may be gone.
                        _ = done.send(());
                    }
                    return;
                }
                None => return,
            }
        }
    }

    fn acquire(&mut self, waiter: SessionWaiter, workspace: Option<PathBuf>) {
        match &mut self.phase {
            SlotPhase::Open(session, _) if session.is_open() => {
                // The caller may be gone.
                drop(waiter.send(Ok(Arc::clone(session))));
            }
            SlotPhase::Opening(waiters) | SlotPhase::Reopening(waiters, ..) => waiters.push(waiter),
            SlotPhase::Resting(waiters, _) if !waiters.is_empty() => waiters.push(waiter),
            // A remote session needs no exclusive process: calls in flight on the old one may finish.
            SlotPhase::Open(session, _) if session.is_draining() => {
                self.family.session_over(session);
                self.open.store(None);
                self.tenant.set_opener(workspace);
                self.open_or_back_off(vec![waiter]);
            }
            SlotPhase::Open(session, since) => {
                self.tenant.set_opener(workspace);
                // It has just ended and its process may still be exiting: one process at a time.
                let (session, since) = (Arc::clone(session), *since);
                self.phase = SlotPhase::Reopening(vec![waiter], session, since);
            }
            // The breaker decides whether callers wait.
            SlotPhase::Resting(..) | SlotPhase::Closed => {
                self.tenant.set_opener(workspace);
                self.open_or_back_off(vec![waiter]);
            }
        }
    }

    fn restart(&mut self, waiter: SessionWaiter) {
        self.breaker.reset();
        match &mut self.phase {
            SlotPhase::Open(session, since) => {
                session.close("it was restarted");
                let (session, since) = (Arc::clone(session), *since);
                self.phase = SlotPhase::Reopening(vec![waiter], session, since);
            }
            SlotPhase::Resting(waiters, _) => {
                let mut waiters = std::mem::take(waiters);
                waiters.push(waiter);
                self.open_or_back_off(waiters);
            }
            _ => self.acquire(waiter, None),
        }
    }

    /// Opens the session now or after the backoff, or fails the waiters if the breaker is open.
    pub(crate) fn open_or_back_off(&mut self, waiters: Vec<SessionWaiter>) {
        match self.breaker.try_enter(Instant::now()) {
            BreakerDecision::Go => self.start_opening(waiters),
            BreakerDecision::Rest(until) => {
                self.update_status(|seen| seen.retry_at = Some(until));
                self.phase = SlotPhase::Resting(waiters, until);
            }
            BreakerDecision::Shut { until, cause } => {
                let fault = unavailable::breaker_open_fault(&self.family, until, &cause);
                answer_waiters(waiters, &Err(fault));
                let reason = || format!("it {}: {cause}", breaker_open_text());
                self.update_status(|seen| {
                    if seen.state != UpstreamState::BackingOff {
                        seen.reason = Some(reason());
                    }
                    seen.state = UpstreamState::BackingOff;
                    seen.retry_at = Some(until);
                });
                self.back_off_until(until);
            }
        }
    }

    /// Without waiters: schedules the next attempt if the session is to be kept open.
    fn back_off_until(&mut self, until: Instant) {
        // If another slot makes the breaker's one attempt, its end is unknown.
        let until = until.max(Instant::now() + Duration::from_millis(100));
        self.phase = match self.should_be_open() {
            true => SlotPhase::Resting(Vec::new(), until),
            false => SlotPhase::Closed,
        };
    }

    fn should_be_open(&self) -> bool {
        self.wanted && self.family.sharing.current_sharing().share == ShareMode::User
    }

    fn start_opening(&mut self, waiters: Vec<SessionWaiter>) {
        self.phase = SlotPhase::Opening(waiters);
        self.update_status(|seen| {
            *seen = SlotStatus {
                state: UpstreamState::Starting,
                ..SlotStatus::default()
            };
        });
        let mailbox = self.mailbox.clone();
        let (family, definition) = (Arc::clone(&self.family), Arc::clone(&self.definition));
        let (beside, seen) = (Arc::clone(&self.beside), Arc::clone(&self.seen));
        let open = async move {
            let outcome = start_queue::start_session(&family, &definition, &beside, &seen).await;
            if let Err(unheard) = mailbox.send(SlotEvent::Opened(outcome))
                && let SlotEvent::Opened(Ok(session)) = unheard.0
            {
                session.close(SERVER_REMOVED_REASON);
            }
        };
        self.opening = Some(tokio::spawn(open.in_current_span()).abort_handle());
    }

    fn handle_opened(&mut self, outcome: Result<Arc<Session>, OpenError>) {
        let waiters = match std::mem::replace(&mut self.phase, SlotPhase::Closed) {
            SlotPhase::Opening(waiters) => waiters,
            other => {
                self.phase = other;
                return;
            }
        };
        match outcome {
            Ok(session) => {
                self.handle_session_ready(&session);
                answer_waiters(waiters, &Ok(session));
            }
            Err(error) => {
                let problem = error.to_string();
                warn!(problem, "the server cannot be started");
                let fault = Err(unavailable::start_failed_fault(
                    &self.family,
                    &self.definition.link,
                    &error,
                ));
                // The server works, and is available as soon as the user has signed in.
                if let OpenError::SignIn(_) = error {
                    self.breaker.reset();
                    self.update_status(|seen| {
                        *seen = SlotStatus {
                            state: UpstreamState::Failed,
                            reason: Some(problem),
                            ..SlotStatus::default()
                        };
                    });
                    answer_waiters(waiters, &fault);
                    return;
                }
                let until = self.record_start_failure(&problem, error.detail());
                answer_waiters(waiters, &fault);
                self.back_off_until(until);
            }
        }
    }

    fn handle_session_ready(&mut self, session: &Arc<Session>) {
        self.breaker.record_opened();
        self.family.meters.opened(session.start_time);
        self.update_status(|seen| {
            *seen = SlotStatus {
                state: UpstreamState::Ready,
                pid: session.pid,
                ..SlotStatus::default()
            };
        });
        self.usage.touch();
        let changed = self.family.session_opened(session);
        self.open.store(Some(Arc::clone(session)));
        self.family.offer.publish_tools();
        if changed {
            self.beside.news.notify_changed(ListChanges::TOOLS);
        }
        // If the task has ended, there are no subscriptions.
        drop(
            self.wishes
                .send(SubscriptionCommand::Opened(Arc::clone(session))),
        );
        let (beside, opened) = (Arc::clone(&self.beside), Arc::clone(session));
        let within = self.definition.call_timeout;
        tokio::spawn(
            async move { opened.compare_with_announced(&beside, within).await }.in_current_span(),
        );
        if self.probed {
            tokio::spawn(watch_liveness(Arc::clone(session), within).in_current_span());
        }
        let (mailbox, watched) = (self.mailbox.clone(), Arc::clone(session));
        tokio::spawn(async move {
            let reason = watched.wait_ended().await;
            let (asked, session) = (watched.closing.is_cancelled(), watched);
            // If the task has ended, there is nothing to report.
            drop(mailbox.send(SlotEvent::Over(SessionEnd {
                session,
                reason,
                asked,
            })));
        });
        self.phase = SlotPhase::Open(Arc::clone(session), Instant::now());
    }

    /// Records a failed start; returns the end of the backoff.
    fn record_start_failure(&self, cause: &str, detail: Option<String>) -> Instant {
        self.family.meters.failed();
        let (until, open) = self.breaker.record_failure(Instant::now(), cause);
        if open {
            info!(
                cause,
                "the circuit breaker is open after repeated server failures"
            );
        }
        self.update_status(|seen| {
            *seen = SlotStatus {
                state: match open {
                    true => UpstreamState::BackingOff,
                    false => UpstreamState::Failed,
                },
                reason: Some(cause.to_owned()),
                detail,
                pid: None,
                retry_at: Some(until),
            };
        });
        until
    }

    fn update_status(&self, change: impl FnOnce(&mut SlotStatus)) {
        change(&mut self.seen.lock());
    }
}

fn answer_waiters(waiters: Vec<SessionWaiter>, outcome: &Result<Arc<Session>, Fault>) {
    for waiter in waiters {
        // The waiter may be gone.
        drop(waiter.send(outcome.clone()));
    }
}
