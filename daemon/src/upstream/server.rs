//! One configured server, as everybody but its own task sees it.
//!
//! Invariant: at most one process of a server is starting or running at a time. Everybody who comes
//! meanwhile waits for that one.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use mux_sandbox::{Fault, Kind, Turn};
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument, info_span};

use super::{
    Session, Surroundings,
    beside::Beside,
    link::OpenError,
    offer::Offer,
    offers::OfferKind,
    owner::{Owner, Phase},
    places::{Places, Seat},
    request::Sending,
    session::CallError,
    subscriptions::{Subscriptions, Wish, retired},
};
use crate::{
    catalog::{Known, ToolSet},
    notices::{Caller, Mailbox},
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
    /// For its calls.
    places: Arc<Places>,
    beside: Arc<Beside>,
    /// To the task that owns the subscriptions.
    wishes: mpsc::UnboundedSender<Wish>,
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
    /// Of the last session.
    pub transport: Option<&'static str>,
    pub identity: Option<String>,
    pub protocol: Option<String>,
    pub start_time: Option<Duration>,
    pub starts: u64,
    /// Of the open session, or of the last one, which may have been another daemon's.
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

pub(super) type Waiter = oneshot::Sender<Result<Arc<Session>, Fault>>;

pub(super) enum Event {
    Acquire(Waiter),
    Opened(Result<Arc<Session>, OpenError>),
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
    /// With the place of the one `before`, it takes over what clients know of it and who follows its resources.
    pub(super) fn start(
        settings: ServerSettings,
        surroundings: Surroundings,
        before: Option<&Self>,
    ) -> Arc<Self> {
        let (mailbox, events) = mpsc::unbounded_channel();
        let broken = settings.definition.as_ref().err().cloned();
        let offer = settings.definition.as_ref().ok().map(|definition| {
            Offer::new(
                &settings.name,
                definition,
                Arc::clone(&surroundings.catalog),
            )
        });
        let view = ServerView {
            state: if broken.is_some() {
                State::Broken
            } else {
                State::Cold
            },
            reason: broken,
            tools: offer.as_ref().and_then(Offer::recall).map(Arc::new),
            ..ServerView::default()
        };
        let beside = before.map_or_else(
            || Beside::new(Arc::clone(&surroundings.news)),
            |before| Arc::clone(&before.beside),
        );
        let (wishes, wished) = mpsc::unbounded_channel();
        let calls_at_once = settings.definition.as_ref().map_or(0, |d| d.calls_at_once);
        let server = Arc::new(Self {
            name: settings.name,
            definition: settings.definition,
            mailbox: mailbox.clone(),
            open: Arc::default(),
            places: Places::new(calls_at_once),
            beside: Arc::clone(&beside),
            wishes: wishes.clone(),
            view: Arc::new(Mutex::new(view)),
            calls: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
        });
        if let (Ok(definition), Some(offer)) = (&server.definition, offer) {
            let subscriptions = Subscriptions {
                beside: Arc::clone(&beside),
                within: definition.call_timeout,
                current: None,
            };
            let owner = Owner {
                offer,
                definition: Arc::new(definition.clone()),
                log: surroundings.logs.join(format!("{}.log", server.name)),
                surroundings,
                mailbox,
                open: Arc::clone(&server.open),
                beside,
                wishes,
                view: Arc::clone(&server.view),
                phase: Phase::Closed,
            };
            let span = info_span!("server", name = server.name);
            tokio::spawn(subscriptions.run(wished).instrument(span.clone()));
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

    /// The tools that it is known to have, connected or not.
    pub fn tools(&self) -> Option<Arc<ToolSet>> {
        match self.open_session() {
            Some(session) => Some(session.tools()),
            None => self.seen().tools.clone(),
        }
    }

    /// With the types that go with them.
    pub fn known(&self) -> Known {
        let tools = self.tools();
        let note = match (&tools, self.open_session()) {
            (Some(_), Some(_)) => None,
            (Some(_), None) => {
                Some("not connected; these are its tools as of its last session".into())
            }
            (None, _) => {
                let reason = self.seen().reason.clone();
                Some(reason.unwrap_or_else(|| "its tools are not known yet".into()))
            }
        };
        Known {
            name: self.name.clone(),
            tools,
            note,
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

    /// A place among the calls that this server gets at once; those who wait take turns.
    pub async fn place(self: &Arc<Self>, turn: &Turn) -> CallInFlight {
        let place = self.places.take(turn).await;
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        CallInFlight {
            server: Arc::clone(self),
            seat: Seat::new(place),
        }
    }

    /// Everything of this kind that the session offers. Clients are told if they know it otherwise.
    pub async fn offers(
        &self,
        session: &Session,
        kind: OfferKind,
        sending: &Sending<'_>,
    ) -> Result<Arc<Vec<serde_json::Value>>, CallError> {
        let list = session.offers(kind, sending).await;
        self.beside
            .tell(kind, list.as_ref().ok().map(|list| &list[..]));
        list
    }

    /// The server cannot be asked for its offers.
    pub fn withholds(&self, kind: OfferKind) {
        self.beside.tell(kind, None);
    }

    /// From now on the connection is told when the resource changes.
    pub async fn follow(
        &self,
        session: &Arc<Session>,
        uri: &str,
        mailbox: &Arc<Mailbox>,
        caller: &Arc<Caller>,
    ) -> Result<Result<(), CallError>, Fault> {
        let (done, outcome) = oneshot::channel();
        let wish = Wish::Follow {
            session: Arc::clone(session),
            uri: uri.to_owned(),
            mailbox: Arc::clone(mailbox),
            caller: Arc::clone(caller),
            done,
        };
        let gone = || retired(&self.name);
        self.wishes.send(wish).map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())
    }

    /// From now on it is told no more.
    pub async fn leave(&self, uri: &str, connection: u64) {
        let (done, left) = oneshot::channel();
        let wish = Wish::Leave {
            uri: uri.to_owned(),
            connection,
            done,
        };
        match self.wishes.send(wish) {
            // An error means that the task has ended, and with it every subscription.
            Ok(()) => _ = left.await,
            Err(_) => _ = self.beside.subscribers.leave(uri, connection),
        }
    }

    /// The connection has ended.
    pub(super) fn forget(&self, connection: u64) {
        if self.wishes.send(Wish::Gone(connection)).is_err() {
            // There is no task, since the entry cannot be used; the next one takes over who follows what.
            let subscribers = &self.beside.subscribers;
            for uri in subscribers.of(connection) {
                subscribers.leave(&uri, connection);
            }
        }
    }

    pub fn view(&self) -> ServerView {
        let mut view = self.seen().clone();
        if let Some(session) = self.open_session() {
            view.tools = Some(session.tools());
        }
        view.calls = self.calls.load(Ordering::Relaxed);
        view.in_flight = self.in_flight.load(Ordering::Relaxed);
        view
    }

    fn seen(&self) -> MutexGuard<'_, ServerView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
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
pub struct CallInFlight {
    server: Arc<Server>,
    seat: Arc<Seat>,
}

impl CallInFlight {
    pub(super) fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.server.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
