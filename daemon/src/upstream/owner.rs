//! The task that owns one server's state.
//!
//! Invariant: nothing but this task opens or closes the server's session.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwapOption;
use mux_sandbox::{Fault, Kind};
use tokio::sync::mpsc;
use tracing::{Instrument, warn};

use super::{
    Session, Surroundings,
    beside::Beside,
    link::OpenError,
    offer::Offer,
    server::{Event, ServerView, State, Waiter},
    subscriptions::Wish,
};
use crate::{
    notices::Changed,
    settings::{Link, ServerDefinition},
};

pub(super) enum Phase {
    Closed,
    Opening(Vec<Waiter>),
    Open(Arc<Session>),
    /// The old session is being closed for these.
    Reopening(Vec<Waiter>),
}

/// The task that owns one server's state.
pub(super) struct Owner {
    pub(super) offer: Offer,
    pub(super) definition: Arc<ServerDefinition>,
    pub(super) log: PathBuf,
    pub(super) surroundings: Surroundings,
    pub(super) mailbox: mpsc::UnboundedSender<Event>,
    pub(super) open: Arc<ArcSwapOption<Session>>,
    pub(super) beside: Arc<Beside>,
    /// To the task that owns the subscriptions.
    pub(super) wishes: mpsc::UnboundedSender<Wish>,
    pub(super) view: Arc<Mutex<ServerView>>,
    pub(super) phase: Phase,
}

impl Owner {
    pub(super) async fn run(mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        while let Some(event) = events.recv().await {
            match event {
                Event::Acquire(waiter) => self.acquire(waiter),
                Event::Restart(waiter) => self.restart(waiter),
                Event::Opened(outcome) => self.opened(outcome),
                Event::Over(reason) => self.over(&reason),
                Event::Retire { now, done } => {
                    self.retire(now, events).await;
                    if let Some(done) = done {
                        // The one who asked may have gone.
                        _ = done.send(());
                    }
                    return;
                }
            }
        }
    }

    fn acquire(&mut self, waiter: Waiter) {
        match &mut self.phase {
            Phase::Open(session) if session.is_open() => {
                // The one who asked may have gone.
                drop(waiter.send(Ok(Arc::clone(session))));
            }
            Phase::Opening(waiters) | Phase::Reopening(waiters) => waiters.push(waiter),
            // It has just ended and its process may still be going: one at a time.
            Phase::Open(_) => self.phase = Phase::Reopening(vec![waiter]),
            Phase::Closed => self.begin(vec![waiter]),
        }
    }

    fn restart(&mut self, waiter: Waiter) {
        match &mut self.phase {
            Phase::Open(session) => {
                session.close("it was restarted");
                self.phase = Phase::Reopening(vec![waiter]);
            }
            _ => self.acquire(waiter),
        }
    }

    fn begin(&mut self, waiters: Vec<Waiter>) {
        self.phase = Phase::Opening(waiters);
        self.see(|view| {
            view.state = State::Starting;
            view.reason = None;
        });
        let mailbox = self.mailbox.clone();
        let (offer, definition) = (self.offer.clone(), Arc::clone(&self.definition));
        let (launcher, log) = (self.surroundings.launcher.clone(), self.log.clone());
        let beside = Arc::clone(&self.beside);
        let open = async move {
            let outcome = Session::open(&offer, &definition, &launcher, log, &beside).await;
            if let Err(unheard) = mailbox.send(Event::Opened(outcome))
                && let Event::Opened(Ok(session)) = unheard.0
            {
                session.close("the server was removed or changed");
            }
        };
        tokio::spawn(open.in_current_span());
    }

    fn opened(&mut self, outcome: Result<Arc<Session>, OpenError>) {
        let (Phase::Opening(waiters) | Phase::Reopening(waiters)) =
            std::mem::replace(&mut self.phase, Phase::Closed)
        else {
            return;
        };
        let answer = match outcome {
            Ok(session) => {
                self.opened_well(&session);
                Ok(session)
            }
            Err(error) => {
                let problem = error.to_string();
                warn!(problem, "the server cannot be started");
                self.see(|view| {
                    view.state = State::Failed;
                    view.reason = Some(problem.clone());
                    view.pid = None;
                });
                let name = &self.offer.name;
                let (kind, hint) = match (&error, &self.definition.link) {
                    (OpenError::SignIn(_), _) => (
                        Kind::AuthRequired,
                        format!("`mux servers login {name}`, or give a token in its `headers`"),
                    ),
                    (OpenError::Failed(_), Link::Remote(remote)) => (
                        Kind::Unavailable,
                        format!("its address: {}", remote.shown()),
                    ),
                    (OpenError::Failed(_), link) => {
                        let (log, command) = (self.log.display(), link.shown());
                        (
                            Kind::Unavailable,
                            format!("its log: {log}; its command: {command}"),
                        )
                    }
                };
                Err(Fault::new(
                    kind,
                    format!("the server `{name}` cannot be started: {problem}"),
                )
                .hint(hint))
            }
        };
        for waiter in waiters {
            // Some may have gone.
            drop(waiter.send(answer.clone()));
        }
    }

    fn opened_well(&mut self, session: &Arc<Session>) {
        let mut known = None;
        self.see(|view| {
            known = view.tools.as_ref().map(|tools| tools.key);
            view.state = State::Ready;
            view.reason = None;
            view.pid = session.pid;
            view.transport = Some(session.transport);
            view.identity.clone_from(&session.identity);
            view.protocol.clone_from(&session.protocol);
            view.start_time = Some(session.start_time);
            view.tools = Some(session.tools());
            view.starts += 1;
        });
        self.open.store(Some(Arc::clone(session)));
        self.offer.tell();
        if known != Some(session.tools().key) {
            self.beside.news.tell(Changed::TOOLS);
        }
        // A task that has ended follows nothing.
        drop(self.wishes.send(Wish::Opened(Arc::clone(session))));
        let (beside, opened) = (Arc::clone(&self.beside), Arc::clone(session));
        let within = self.definition.call_timeout;
        tokio::spawn(async move { beside.compare(&opened, within).await }.in_current_span());
        let (mailbox, watched) = (self.mailbox.clone(), Arc::clone(session));
        tokio::spawn(async move {
            let reason = watched.ended().await;
            // A task that has ended does not care.
            drop(mailbox.send(Event::Over(reason)));
        });
        self.phase = Phase::Open(Arc::clone(session));
    }

    fn over(&mut self, reason: &str) {
        self.open.store(None);
        self.see(|view| {
            view.state = State::Cold;
            view.reason = Some(reason.to_owned());
            view.pid = None;
        });
        match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Reopening(waiters) => self.begin(waiters),
            Phase::Opening(waiters) => self.phase = Phase::Opening(waiters),
            Phase::Open(_) | Phase::Closed => {}
        }
    }

    /// The end: whoever waits is told, and the session is closed with its last call.
    async fn retire(mut self, now: bool, mut events: mpsc::UnboundedReceiver<Event>) {
        events.close();
        let mut session = match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Open(session) => Some(session),
            // A start that is under way closes what it opens, since nobody takes it.
            Phase::Opening(_) | Phase::Reopening(_) | Phase::Closed => None,
        };
        while let Some(event) = events.recv().await {
            if let Event::Opened(Ok(opened)) = event {
                session = Some(opened);
            }
        }
        let Some(session) = session else { return };
        self.open.store(None);
        if !now {
            session.idle().await;
        }
        session.close("the server was removed or changed");
        session.ended().await;
    }

    fn see(&self, change: impl FnOnce(&mut ServerView)) {
        change(&mut self.view.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
