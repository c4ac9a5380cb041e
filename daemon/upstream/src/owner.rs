//! The task that owns one slot's state.
//!
//! Invariant: nothing but this task opens or closes the slot's session, and nothing is opened that the
//! breaker has not let through.

mod ending;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use mux_wire::Fault;
use tokio::{
    sync::mpsc,
    task::AbortHandle,
    time::{Instant, sleep_until},
};
use tracing::{Instrument, info, warn};

use super::{
    Session,
    beside::Beside,
    breaker::{Breaker, Gate},
    family::Family,
    link::OpenError,
    liveness, opening,
    refusals::{self, left_alone},
    slot::{Event, Over, Seen, Usage, Waiter},
    subscriptions::Wish,
    tenant::Tenant,
    view::State,
};
use mux_caller::Changed;
use mux_settings::{ServerDefinition, Share};

const REMOVED: &str = "the server was removed or changed";

pub(super) enum Phase {
    Closed,
    /// It failed a moment ago and is tried again then, for these.
    Resting(Vec<Waiter>, Instant),
    Opening(Vec<Waiter>),
    Open(Arc<Session>, Instant),
    /// The old session is being closed for these.
    Reopening(Vec<Waiter>, Arc<Session>, Instant),
}

/// The task that owns one slot's state.
pub(super) struct Owner {
    pub(super) family: Arc<Family>,
    /// With the workspace of its key filled in.
    pub(super) definition: Arc<ServerDefinition>,
    pub(super) tenant: Arc<Tenant>,
    pub(super) mailbox: mpsc::UnboundedSender<Event>,
    pub(super) open: Arc<ArcSwapOption<Session>>,
    pub(super) beside: Arc<Beside>,
    /// To the task that owns the subscriptions.
    pub(super) wishes: mpsc::UnboundedSender<Wish>,
    pub(super) seen: Arc<Mutex<Seen>>,
    pub(super) usage: Arc<Usage>,
    pub(super) breaker: Arc<Breaker>,
    pub(super) phase: Phase,
    /// Whether it is pinged: a server behind a URL has nothing to do between requests.
    pub(super) probed: bool,
    /// It is to be open whether or not somebody comes.
    pub(super) wanted: bool,
    /// The start that is under way, or the last one.
    pub(super) opening: Option<AbortHandle>,
}

impl Owner {
    pub(super) async fn run(mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        loop {
            let due = self.due();
            let event = tokio::select! {
                event = events.recv() => event,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.look();
                    continue;
                }
            };
            match event {
                Some(Event::Acquire { waiter, workspace }) => self.acquire(waiter, workspace),
                Some(Event::Wake) => {
                    self.wanted = true;
                    if matches!(self.phase, Phase::Closed) {
                        self.approach(Vec::new());
                    }
                }
                Some(Event::Handed) => {
                    if matches!(self.phase, Phase::Closed) {
                        self.approach(Vec::new());
                    }
                }
                Some(Event::Restart(waiter)) => self.restart(waiter),
                Some(Event::Opened(outcome)) => self.opened(outcome),
                Some(Event::Over(over)) => self.over(&over),
                // What is due may be another time now.
                Some(Event::Moved) => {}
                Some(Event::Retire { why, now, done }) => {
                    self.retire(why, now, events).await;
                    if let Some(done) = done {
                        // The one who asked may have gone.
                        _ = done.send(());
                    }
                    return;
                }
                None => return,
            }
        }
    }

    fn acquire(&mut self, waiter: Waiter, workspace: Option<PathBuf>) {
        match &mut self.phase {
            Phase::Open(session, _) if session.is_open() => {
                // The one who asked may have gone.
                drop(waiter.send(Ok(Arc::clone(session))));
            }
            Phase::Opening(waiters) | Phase::Reopening(waiters, ..) => waiters.push(waiter),
            Phase::Resting(waiters, _) if !waiters.is_empty() => waiters.push(waiter),
            // No process stands in the way; what is on its way over the old one may come to its end.
            Phase::Open(session, _) if session.is_draining() => {
                self.family.over(session);
                self.open.store(None);
                self.tenant.opened_for(workspace);
                self.approach(vec![waiter]);
            }
            Phase::Open(session, since) => {
                self.tenant.opened_for(workspace);
                // It has just ended and its process may still be going: one at a time.
                let (session, since) = (Arc::clone(session), *since);
                self.phase = Phase::Reopening(vec![waiter], session, since);
            }
            // Whether it is worth waiting for, the breaker knows.
            Phase::Resting(..) | Phase::Closed => {
                self.tenant.opened_for(workspace);
                self.approach(vec![waiter]);
            }
        }
    }

    fn restart(&mut self, waiter: Waiter) {
        self.breaker.reset();
        match &mut self.phase {
            Phase::Open(session, since) => {
                session.close("it was restarted");
                let (session, since) = (Arc::clone(session), *since);
                self.phase = Phase::Reopening(vec![waiter], session, since);
            }
            Phase::Resting(waiters, _) => {
                let mut waiters = std::mem::take(waiters);
                waiters.push(waiter);
                self.approach(waiters);
            }
            _ => self.acquire(waiter, None),
        }
    }

    /// Opens it now, or when the breaker says so, or tells those who wait that it is shut.
    pub(super) fn approach(&mut self, waiters: Vec<Waiter>) {
        match self.breaker.enter(Instant::now()) {
            Gate::Go => self.begin(waiters),
            Gate::Rest(until) => {
                self.see(|seen| seen.retry_at = Some(until));
                self.phase = Phase::Resting(waiters, until);
            }
            Gate::Shut { until, cause } => {
                let fault = refusals::shut(&self.family, until, &cause);
                tell(waiters, &Err(fault));
                let reason = || format!("it {}: {cause}", left_alone());
                self.see(|seen| {
                    if seen.state != State::BackingOff {
                        seen.reason = Some(reason());
                    }
                    seen.state = State::BackingOff;
                    seen.retry_at = Some(until);
                });
                self.rest_until(until);
            }
        }
    }

    /// Nobody waits; it is tried again then if it is to be open.
    fn rest_until(&mut self, until: Instant) {
        // Of a shut breaker whose one try is another's, nobody knows how long it takes.
        let until = until.max(Instant::now() + Duration::from_millis(100));
        self.phase = match self.is_wanted() {
            true => Phase::Resting(Vec::new(), until),
            false => Phase::Closed,
        };
    }

    fn is_wanted(&self) -> bool {
        self.wanted && self.family.sharing.now().share == Share::User
    }

    fn begin(&mut self, waiters: Vec<Waiter>) {
        self.phase = Phase::Opening(waiters);
        self.see(|seen| {
            *seen = Seen {
                state: State::Starting,
                ..Seen::default()
            };
        });
        let mailbox = self.mailbox.clone();
        let (family, definition) = (Arc::clone(&self.family), Arc::clone(&self.definition));
        let (beside, seen) = (Arc::clone(&self.beside), Arc::clone(&self.seen));
        let open = async move {
            let outcome = opening::open(&family, &definition, &beside, &seen).await;
            if let Err(unheard) = mailbox.send(Event::Opened(outcome))
                && let Event::Opened(Ok(session)) = unheard.0
            {
                session.close(REMOVED);
            }
        };
        self.opening = Some(tokio::spawn(open.in_current_span()).abort_handle());
    }

    fn opened(&mut self, outcome: Result<Arc<Session>, OpenError>) {
        let waiters = match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Opening(waiters) => waiters,
            other => {
                self.phase = other;
                return;
            }
        };
        match outcome {
            Ok(session) => {
                self.opened_well(&session);
                tell(waiters, &Ok(session));
            }
            Err(error) => {
                let problem = error.to_string();
                warn!(problem, "the server cannot be started");
                let fault = Err(refusals::unstarted(
                    &self.family,
                    &self.definition.link,
                    &error,
                ));
                // It is well, and can be had as soon as somebody has signed in.
                if let OpenError::SignIn(_) = error {
                    self.breaker.reset();
                    self.see(|seen| {
                        *seen = Seen {
                            state: State::Failed,
                            reason: Some(problem),
                            ..Seen::default()
                        };
                    });
                    tell(waiters, &fault);
                    return;
                }
                let until = self.failed(&problem);
                tell(waiters, &fault);
                self.rest_until(until);
            }
        }
    }

    fn opened_well(&mut self, session: &Arc<Session>) {
        self.breaker.opened();
        self.family.meters.opened(session.start_time);
        self.see(|seen| {
            *seen = Seen {
                state: State::Ready,
                pid: session.pid,
                ..Seen::default()
            };
        });
        self.usage.touch();
        let changed = self.family.opened(session);
        self.open.store(Some(Arc::clone(session)));
        self.family.offer.tell();
        if changed {
            self.beside.news.tell(Changed::TOOLS);
        }
        // A task that has ended follows nothing.
        drop(self.wishes.send(Wish::Opened(Arc::clone(session))));
        let (beside, opened) = (Arc::clone(&self.beside), Arc::clone(session));
        let within = self.definition.call_timeout;
        tokio::spawn(async move { beside.compare(&opened, within).await }.in_current_span());
        if self.probed {
            tokio::spawn(liveness::follow(Arc::clone(session), within).in_current_span());
        }
        let (mailbox, watched) = (self.mailbox.clone(), Arc::clone(session));
        tokio::spawn(async move {
            let reason = watched.ended().await;
            let (asked, session) = (watched.closing.is_cancelled(), watched);
            // A task that has ended does not care.
            drop(mailbox.send(Event::Over(Over {
                session,
                reason,
                asked,
            })));
        });
        self.phase = Phase::Open(Arc::clone(session), Instant::now());
    }

    /// Until when to rest.
    fn failed(&self, cause: &str) -> Instant {
        self.family.meters.failed();
        let (until, open) = self.breaker.failed(Instant::now(), cause);
        if open {
            info!(
                cause,
                "it fails again and again, and is left alone for a while"
            );
        }
        self.see(|seen| {
            *seen = Seen {
                state: match open {
                    true => State::BackingOff,
                    false => State::Failed,
                },
                reason: Some(cause.to_owned()),
                pid: None,
                retry_at: Some(until),
            };
        });
        until
    }

    fn see(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn tell(waiters: Vec<Waiter>, outcome: &Result<Arc<Session>, Fault>) {
    for waiter in waiters {
        // Some may have gone.
        drop(waiter.send(outcome.clone()));
    }
}
