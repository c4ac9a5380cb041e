//! The task that owns one slot's state.
//!
//! Invariant: only this task opens or closes the slot's session, and only if the circuit breaker allows it.

mod session_end;
mod slot_timers;

use std::{path::PathBuf, sync::Arc, time::Duration};

use mux_messages::{ServerCause, ServerState};
use mux_wire::Fault;
use tokio::{
    sync::mpsc,
    task::AbortHandle,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info, warn};

use super::{
    Slot,
    resource_subscriptions::SubscriptionCommand,
    slot_event::{SessionEnd, SessionWaiter, SlotEvent},
    slot_status::SlotStatus,
    start_queue::{self, BackgroundStart},
};
use crate::{
    link::{OpenError, without_output},
    server::{
        circuit_breaker::{BreakerDecision, CircuitBreaker},
        unavailable::{self, breaker_open_text},
    },
    session::{Session, watch_liveness},
};
use mux_caller::ListChanges;
use mux_settings::{ServerDefinition, ShareMode};

const SERVER_REMOVED_REASON: &str = "the server was removed or changed";
const PRESTART_REASON: &str = "it was called in the last days, and starts in the background";

pub(super) enum SlotPhase {
    Closed,
    /// The start failed. At this time the task tries again for these waiters.
    BackingOff(Vec<SessionWaiter>, Instant),
    Opening(Vec<SessionWaiter>),
    Open(Arc<Session>, Instant),
    /// The old session is being closed, to open a new session for these waiters.
    Reopening(Vec<SessionWaiter>, Arc<Session>, Instant),
}

/// The task that owns one slot's state.
pub(super) struct SlotOwner {
    pub(super) slot: Arc<Slot>,
    /// The definition with the workspace of the slot's key filled in.
    pub(super) definition: Arc<ServerDefinition>,
    pub(super) breaker: Arc<CircuitBreaker>,
    pub(super) phase: SlotPhase,
    /// Set if the session is pinged: a remote server does nothing between requests.
    pub(super) pinged: bool,
    /// Set if the session is kept open without callers.
    pub(super) keep_open: bool,
    /// The reason the next start is in the background, unless a caller comes first.
    pub(super) background_reason: Option<&'static str>,
    /// Cancelled when a caller waits for the current start.
    pub(super) wanted: CancellationToken,
    /// The current or last start.
    pub(super) start_task: Option<AbortHandle>,
}

impl SlotOwner {
    pub(super) async fn run(mut self, mut events: mpsc::UnboundedReceiver<SlotEvent>) {
        loop {
            let deadline = self.next_deadline();
            let event = tokio::select! {
                event = events.recv() => event,
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    self.handle_deadline();
                    continue;
                }
            };
            match event {
                Some(SlotEvent::Acquire { waiter, workspace }) => self.acquire(waiter, workspace),
                Some(SlotEvent::Wake) => {
                    self.keep_open = true;
                    if matches!(self.phase, SlotPhase::Closed) {
                        self.open_or_back_off(Vec::new());
                    }
                }
                Some(SlotEvent::Prestart) => {
                    if matches!(self.phase, SlotPhase::Closed) {
                        self.background_reason = Some(PRESTART_REASON);
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
                Some(SlotEvent::Ended(end)) => self.handle_session_end(&end),
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
            SlotPhase::Opening(waiters) => {
                waiters.push(waiter);
                self.wanted.cancel();
            }
            SlotPhase::Reopening(waiters, ..) => waiters.push(waiter),
            SlotPhase::BackingOff(waiters, _) if !waiters.is_empty() => waiters.push(waiter),
            // A remote session needs no exclusive process: calls in flight on the old session may finish.
            SlotPhase::Open(session, _) if session.is_draining() => {
                self.slot.server_shared.session_over(session);
                self.slot.open.store(None);
                self.slot.scope.set_opener(workspace);
                self.open_or_back_off(vec![waiter]);
            }
            SlotPhase::Open(session, since) => {
                self.slot.scope.set_opener(workspace);
                // The session has just ended and its process may still be exiting: one process at a time.
                let session = Arc::clone(session);
                let since = *since;
                self.phase = SlotPhase::Reopening(vec![waiter], session, since);
            }
            // The breaker decides whether callers wait.
            SlotPhase::BackingOff(..) | SlotPhase::Closed => {
                self.slot.scope.set_opener(workspace);
                self.open_or_back_off(vec![waiter]);
            }
        }
    }

    fn restart(&mut self, waiter: SessionWaiter) {
        self.breaker.reset();
        match &mut self.phase {
            SlotPhase::Open(session, since) => {
                session.close("it was restarted");
                let session = Arc::clone(session);
                let since = *since;
                self.phase = SlotPhase::Reopening(vec![waiter], session, since);
            }
            SlotPhase::BackingOff(waiters, _) => {
                let mut waiters = std::mem::take(waiters);
                waiters.push(waiter);
                self.open_or_back_off(waiters);
            }
            _ => self.acquire(waiter, None),
        }
    }

    /// Opens the session now or after the backoff, or fails the waiters if the breaker is open.
    fn open_or_back_off(&mut self, waiters: Vec<SessionWaiter>) {
        match self.breaker.try_enter(Instant::now()) {
            BreakerDecision::Allowed => self.start_opening(waiters),
            BreakerDecision::BackOff(until) => {
                self.update_status(|status| status.retry_at = Some(until));
                self.phase = SlotPhase::BackingOff(waiters, until);
            }
            BreakerDecision::Open { until, cause } => {
                let fault =
                    unavailable::breaker_open_fault(&self.slot.server_shared, until, &cause);
                answer_waiters(waiters, &Err(fault));
                let reason = || format!("it {}: {cause}", breaker_open_text());
                self.update_status(|status| {
                    if status.state != ServerState::BackingOff {
                        status.reason = Some(reason());
                    }
                    status.state = ServerState::BackingOff;
                    status.retry_at = Some(until);
                });
                self.back_off_until(until);
            }
        }
    }

    /// Schedules the next attempt without waiters, if the session must be kept open.
    fn back_off_until(&mut self, until: Instant) {
        self.background_reason = None;
        // If another slot makes the breaker's one attempt, its end is unknown.
        let until = until.max(Instant::now() + Duration::from_millis(100));
        self.phase = if self.should_be_open() {
            SlotPhase::BackingOff(Vec::new(), until)
        } else {
            SlotPhase::Closed
        };
    }

    fn should_be_open(&self) -> bool {
        self.keep_open && self.slot.server_shared.sharing.current_sharing().share == ShareMode::User
    }

    fn start_opening(&mut self, waiters: Vec<SessionWaiter>) {
        self.wanted = CancellationToken::new();
        let background_reason = self.background_reason.take();
        let background = background_reason
            .filter(|_| waiters.is_empty())
            .map(|reason| BackgroundStart {
                reason,
                wanted: self.wanted.clone(),
            });
        self.phase = SlotPhase::Opening(waiters);
        self.update_status(|status| {
            *status = SlotStatus {
                state: ServerState::Starting,
                started_at: Some(Instant::now()),
                ..SlotStatus::default()
            };
        });
        let slot = Arc::clone(&self.slot);
        let definition = Arc::clone(&self.definition);
        let open = async move {
            let outcome = start_queue::start_session(&slot, &definition, background).await;
            if let Err(unheard) = slot.event_sender.send(SlotEvent::Opened(outcome))
                && let SlotEvent::Opened(Ok(session)) = unheard.0
            {
                session.close(SERVER_REMOVED_REASON);
            }
        };
        self.start_task = Some(tokio::spawn(open.in_current_span()).abort_handle());
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
                    &self.slot.server_shared,
                    &self.definition.endpoint,
                    &error,
                ));
                // The server works, and is available as soon as the user has signed in.
                if let OpenError::SignIn(_) = error {
                    self.breaker.reset();
                    self.update_status(|status| {
                        *status = SlotStatus {
                            state: ServerState::Failed,
                            reason: Some(problem),
                            ..SlotStatus::default()
                        };
                    });
                    answer_waiters(waiters, &fault);
                    return;
                }
                let until = self.record_start_failure(&problem, Some(&error));
                answer_waiters(waiters, &fault);
                self.back_off_until(until);
            }
        }
    }

    fn handle_session_ready(&mut self, session: &Arc<Session>) {
        self.breaker.record_opened();
        self.slot.server_shared.meters.opened(session.start_time);
        self.update_status(|status| {
            *status = SlotStatus {
                state: ServerState::Ready,
                pid: session.pid,
                ..SlotStatus::default()
            };
        });
        self.slot.usage.touch();
        let changed = self.slot.server_shared.session_opened(session);
        self.slot.open.store(Some(Arc::clone(session)));
        self.slot.server_shared.catalog_entry.publish_tools();
        if changed {
            self.slot
                .slot_shared
                .list_changes
                .notify_changed(ListChanges::TOOLS);
        }
        // If the task has ended, there are no subscriptions.
        drop(
            self.slot
                .subscription_commands
                .send(SubscriptionCommand::Opened(Arc::clone(session))),
        );
        let slot_shared = Arc::clone(&self.slot.slot_shared);
        let opened = Arc::clone(session);
        let within = self.definition.call_timeout;
        tokio::spawn(
            async move { opened.compare_with_announced(&slot_shared, within).await }
                .in_current_span(),
        );
        if self.pinged {
            tokio::spawn(watch_liveness(Arc::clone(session), within).in_current_span());
        }
        let event_sender = self.slot.event_sender.clone();
        let watched = Arc::clone(session);
        tokio::spawn(async move {
            let reason = watched.wait_stopped().await;
            let closed_by_daemon = watched.is_closing();
            let session = watched;
            // If the task has ended, there is nothing to report.
            drop(event_sender.send(SlotEvent::Ended(SessionEnd {
                session,
                reason,
                closed_by_daemon,
            })));
        });
        self.phase = SlotPhase::Open(Arc::clone(session), Instant::now());
    }

    /// Records a failed start, or a session that ended too early. Returns the end of the backoff.
    fn record_start_failure(&self, problem: &str, error: Option<&OpenError>) -> Instant {
        self.slot.server_shared.meters.failed();
        let now = Instant::now();
        // An ended session may have written about any caller's calls.
        let quotes_calls = error.is_none();
        let cause = if quotes_calls {
            without_output(problem)
        } else {
            problem
        };
        let (until, open) = match error {
            Some(OpenError::TooSlow(_)) => (self.breaker.record_slow_start(now, cause), false),
            _ => self.breaker.record_failure(now, cause),
        };
        if open {
            info!(
                problem,
                "the circuit breaker is open after repeated server failures"
            );
        }
        self.update_status(|status| {
            *status = SlotStatus {
                state: if open {
                    ServerState::BackingOff
                } else {
                    ServerState::Failed
                },
                reason: Some(problem.to_owned()),
                quotes_calls,
                detail: error.and_then(OpenError::detail),
                cause: error
                    .filter(|error| error.is_missing_program())
                    .map(|_| ServerCause::MissingProgram),
                pid: None,
                retry_at: Some(until),
                started_at: None,
            };
        });
        until
    }

    fn update_status(&self, change: impl FnOnce(&mut SlotStatus)) {
        change(&mut self.slot.status.lock());
    }
}

fn answer_waiters(waiters: Vec<SessionWaiter>, outcome: &Result<Arc<Session>, Fault>) {
    for waiter in waiters {
        // The waiter may be gone.
        drop(waiter.send(outcome.clone()));
    }
}
