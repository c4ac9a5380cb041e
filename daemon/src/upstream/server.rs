//! One configured server: a task that owns its state and opens its session when somebody needs it.
//!
//! Invariant: at most one process of a server is starting or running at a time. Everybody who comes
//! meanwhile waits for that one.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use mux_sandbox::{Fault, Kind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tracing::{Instrument, info_span, warn};

use super::{Session, Surroundings};
use crate::{
    catalog::ToolSet,
    settings::{ServerDefinition, ServerSettings},
};

/// A server and the way to its session.
#[derive(Debug)]
pub struct Server {
    name: String,
    definition: Result<ServerDefinition, String>,
    mailbox: mpsc::UnboundedSender<Event>,
    /// The open session, for those who need not ask the task.
    open: Arc<ArcSwapOption<Session>>,
    /// Calls at once.
    permits: Arc<Semaphore>,
    view: Arc<Mutex<ServerView>>,
    calls: AtomicU64,
    in_flight: AtomicU64,
}

/// What can be seen of a server from outside.
#[derive(Clone, Debug, Default)]
pub struct ServerView {
    pub state: State,
    /// Why, where that is not obvious.
    pub reason: Option<String>,
    pub pid: Option<u32>,
    pub identity: Option<String>,
    pub protocol: Option<String>,
    pub start_time: Option<Duration>,
    pub starts: u64,
    /// Of the last session, open or not.
    pub tools: Option<Arc<ToolSet>>,
    pub calls: u64,
    pub in_flight: u64,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum State {
    /// Not started yet, or closed.
    #[default]
    Cold,
    Starting,
    Ready,
    /// The last start failed; the next call tries again.
    Failed,
    /// Its configuration cannot be used.
    Broken,
}

type Waiter = oneshot::Sender<Result<Arc<Session>, Fault>>;

enum Event {
    Acquire(Waiter),
    Opened(Result<Arc<Session>, String>),
    /// The session is over; the reason.
    Over(String),
    Restart(Waiter),
    /// No more callers: end the session when its calls are done, or at once.
    Retire {
        now: bool,
        done: Option<oneshot::Sender<()>>,
    },
}

impl Server {
    pub(super) fn start(settings: ServerSettings, surroundings: Surroundings) -> Arc<Self> {
        let (mailbox, events) = mpsc::unbounded_channel();
        let broken = settings.definition.as_ref().err().cloned();
        let view = ServerView {
            state: if broken.is_some() {
                State::Broken
            } else {
                State::Cold
            },
            reason: broken,
            ..ServerView::default()
        };
        let server = Arc::new(Self {
            name: settings.name,
            definition: settings.definition,
            mailbox: mailbox.clone(),
            open: Arc::default(),
            permits: Arc::new(Semaphore::new(surroundings.calls_per_server)),
            view: Arc::new(Mutex::new(view)),
            calls: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
        });
        if let Ok(definition) = &server.definition {
            let owner = Owner {
                name: server.name.clone(),
                definition: Arc::new(definition.clone()),
                log: surroundings.logs.join(format!("{}.log", server.name)),
                surroundings,
                mailbox,
                open: Arc::clone(&server.open),
                view: Arc::clone(&server.view),
                phase: Phase::Closed,
            };
            let span = info_span!("server", name = server.name);
            tokio::spawn(owner.run(events).instrument(span));
        }
        server
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn definition(&self) -> &Result<ServerDefinition, String> {
        &self.definition
    }

    /// The session if one is open now.
    pub fn open_session(&self) -> Option<Arc<Session>> {
        self.open.load_full().filter(|session| session.is_open())
    }

    /// The open session, or a new one.
    pub async fn session(&self) -> Result<Arc<Session>, Fault> {
        match self.open_session() {
            Some(session) => Ok(session),
            None => self.ask(Event::Acquire).await,
        }
    }

    /// Closes the session, if there is one, and opens another.
    pub async fn restart(&self) -> Result<Arc<Session>, Fault> {
        self.ask(Event::Restart).await
    }

    async fn ask(&self, event: impl FnOnce(Waiter) -> Event) -> Result<Arc<Session>, Fault> {
        if let Err(problem) = &self.definition {
            return Err(Fault::new(
                Kind::Unavailable,
                format!("the server `{}` cannot be used: {problem}", self.name),
            )
            .hint("correct its entry in config.toml, then run `mux reload`"));
        }
        let (reply, answer) = oneshot::channel();
        let retired = || {
            let message = format!("the server `{}` was removed or changed", self.name);
            Fault::new(Kind::Unavailable, message).hint("try again")
        };
        self.mailbox.send(event(reply)).map_err(|_| retired())?;
        answer.await.unwrap_or_else(|_| Err(retired()))
    }

    /// A place among the calls that this server gets at once; they are given out in order.
    pub async fn place(self: &Arc<Self>) -> Place {
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Place {
            server: Arc::clone(self),
            _permit: permit,
        }
    }

    pub fn view(&self) -> ServerView {
        let mut view = self
            .view
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(session) = self.open_session() {
            view.tools = Some(session.tools());
        }
        view.calls = self.calls.load(Ordering::Relaxed);
        view.in_flight = self.in_flight.load(Ordering::Relaxed);
        view
    }

    /// Out of the configuration: no new callers; the session ends with its last call.
    pub(super) fn retire(&self) {
        // A task that has ended already has nothing to retire.
        drop(self.mailbox.send(Event::Retire {
            now: false,
            done: None,
        }));
    }

    /// Ends the session now and waits for it.
    pub(super) async fn close(&self) {
        let (done, over) = oneshot::channel();
        if self
            .mailbox
            .send(Event::Retire {
                now: true,
                done: Some(done),
            })
            .is_ok()
        {
            // An error means that the task has ended, which is what was asked for.
            _ = over.await;
        }
    }
}

/// One of the calls that are on their way.
pub struct Place {
    server: Arc<Server>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.server.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

enum Phase {
    Closed,
    Opening(Vec<Waiter>),
    Open(Arc<Session>),
    /// The old session is being closed for these.
    Reopening(Vec<Waiter>),
}

/// The task that owns one server's state.
struct Owner {
    name: String,
    definition: Arc<ServerDefinition>,
    log: PathBuf,
    surroundings: Surroundings,
    mailbox: mpsc::UnboundedSender<Event>,
    open: Arc<ArcSwapOption<Session>>,
    view: Arc<Mutex<ServerView>>,
    phase: Phase,
}

impl Owner {
    async fn run(mut self, mut events: mpsc::UnboundedReceiver<Event>) {
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
        let (name, definition) = (self.name.clone(), Arc::clone(&self.definition));
        let (launcher, log) = (self.surroundings.launcher.clone(), self.log.clone());
        let open = async move {
            let outcome = Session::open(&name, &definition, &launcher, log).await;
            if let Err(unheard) = mailbox.send(Event::Opened(outcome))
                && let Event::Opened(Ok(session)) = unheard.0
            {
                session.close("the server was removed or changed");
            }
        };
        tokio::spawn(open.in_current_span());
    }

    fn opened(&mut self, outcome: Result<Arc<Session>, String>) {
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
            Err(problem) => {
                warn!(problem, "the server cannot be started");
                self.see(|view| {
                    view.state = State::Failed;
                    view.reason = Some(problem.clone());
                    view.pid = None;
                });
                let log = self.log.display();
                Err(Fault::new(
                    Kind::Unavailable,
                    format!("the server `{}` cannot be started: {problem}", self.name),
                )
                .hint(format!(
                    "its log: {log}; its command: {}",
                    self.definition.command_line()
                )))
            }
        };
        for waiter in waiters {
            // Some may have gone.
            drop(waiter.send(answer.clone()));
        }
    }

    fn opened_well(&mut self, session: &Arc<Session>) {
        self.see(|view| {
            view.state = State::Ready;
            view.reason = None;
            view.pid = Some(session.pid);
            view.identity.clone_from(&session.identity);
            view.protocol.clone_from(&session.protocol);
            view.start_time = Some(session.start_time);
            view.tools = Some(session.tools());
            view.starts += 1;
        });
        self.open.store(Some(Arc::clone(session)));
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
