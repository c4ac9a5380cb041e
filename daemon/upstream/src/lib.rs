//! The sessions to the user's MCP servers: opened at first need, shared by all who may share.
//!
//! A server (`server`, `family`) has a slot for each `key` that its `sharing` gives to callers, and each `slot` one
//! task that owns its state (`owner`). A session is a value that many callers hold at once (`session`, `request`,
//! `offers`), opened in `open` and followed to its end in `watch`; a process is started by the keeper (`process`)
//! when it is its turn (`starts`) and spoken to in lines (`transport`). What fails is tried again by the rule of the
//! `breaker`; one that hangs is found out in `liveness`, and what else is wrong with it stands in its `health`.
//!
//! What servers say of their own accord is heard in `overheard` and goes on in `ears`: to the calls that
//! are `in_flight`, to those who follow a resource (`subscriptions`), to the log. What they ask goes
//! through `asks`.
//!
//! Invariant: servers share nothing but the keeper. One that is slow, dead or mad delays no other.

mod aside;
mod asks;
mod awaited;
mod back_channel;
mod beside;
mod breaker;
mod due;
mod ears;
mod family;
mod handed;
mod handler;
mod handshake;
mod health;
mod in_flight;
mod incoming;
mod key;
mod lifetime;
mod link;
mod listen;
mod listing;
mod lists;
mod liveness;
mod numbers;
mod offer;
mod offers;
mod open;
mod opening;
mod overheard;
mod owner;
mod pace;
mod pages;
mod places;
mod process;
mod progress;
mod question_text;
mod raw;
mod refusals;
mod relist;
mod request;
mod rounds;
mod server;
mod session;
mod sharing;
mod slot;
mod stamp;
mod starts;
mod stderr;
mod subscribers;
mod subscriptions;
mod tasks;
mod tenant;
mod transport;
mod view;
mod watch;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::join_all;
use mux_typegen::names::spell;
use mux_wire::{Fault, Kind};

pub use self::{
    asks::{NotAnswered, RequestPolicy, ServerRequest, ServerRequestPolicy},
    back_channel::{NoBackChannel, Remedy},
    key::Whose,
    offers::{OfferKind, Wanted},
    process::Launcher,
    request::Sending,
    server::{Held, Server},
    session::{CallError, Session},
    slot::{CallInFlight, Slot},
    starts::Starts,
    view::{ServerView, SlotView, State},
};
pub use self::{
    awaited::Awaited,
    handed::{Going, Handed, HandedPlace, HandedState},
};
use mux_auth::Auth;
use mux_caller::{Changed, News};
use mux_catalog::{Catalog, Known, Scope, pins::Pins};
use mux_settings::{Link, Place, ServerSettings};
use mux_sources::Sources;
use mux_telemetry::metrics::Metrics;
use mux_text::did_you_mean::nearest_few;

/// What every server needs to start.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub launcher: Launcher,
    /// Where the servers' standard error goes, one file each.
    pub logs: PathBuf,
    /// Where their tools are remembered.
    pub catalog: Arc<Catalog>,
    /// What they were when they were first trusted.
    pub pins: Arc<Pins>,
    /// Is told when the pool offers something else.
    pub news: Arc<News>,
    /// Those that start at the same time.
    pub starts: Arc<Starts>,
    /// Has the tokens for remote servers.
    pub auth: Arc<Auth>,
    /// What is no server, and called by the daemon itself.
    pub sources: Arc<Sources>,
    /// What the daemon before us hands over.
    pub awaited: Awaited,
    /// Where it is counted what becomes of them.
    pub metrics: Arc<Metrics>,
    /// Decides on what they ask of clients, once there is somebody who does.
    pub requests: RequestPolicy,
}

/// All configured servers.
#[derive(Debug)]
pub struct Upstreams {
    surroundings: Surroundings,
    servers: RwLock<BTreeMap<String, Arc<Server>>>,
    /// Another daemon opens what is to be open from the beginning.
    leaving: AtomicBool,
}

/// What a new configuration did to the servers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
    pub unchanged: Vec<String>,
}

impl Upstreams {
    pub fn new(surroundings: Surroundings) -> Self {
        Self {
            surroundings,
            servers: RwLock::default(),
            leaving: AtomicBool::new(false),
        }
    }

    /// From now on sessions are opened only for those who call.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Takes over a configuration. Servers whose definition is the same keep their session; calls in
    /// flight on the others finish on the old one, and who follows their resources goes on to follow them.
    pub fn apply(&self, settings: &BTreeMap<String, ServerSettings>) -> Changes {
        let mut changes = Changes::default();
        let mut servers = self
            .servers
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        servers.retain(|name, server| {
            let kept = settings.contains_key(name);
            if !kept {
                changes.removed.push(name.clone());
                server.retire();
            }
            kept
        });
        for (name, wanted) in settings {
            let before = servers.get(name);
            match before {
                Some(server) if server.definition() == &wanted.definition => {
                    changes.unchanged.push(name.clone());
                    continue;
                }
                Some(server) => {
                    server.retire();
                    changes.changed.push(name.clone());
                }
                None => changes.added.push(name.clone()),
            }
            let server = Server::new(wanted.clone(), &self.surroundings, before.map(|b| &**b));
            if !self.leaving.load(Ordering::Relaxed) {
                server.wake();
            }
            servers.insert(name.clone(), server);
        }
        drop(servers);
        self.surroundings.catalog.changed();
        let same = Changes {
            unchanged: changes.unchanged.clone(),
            ..Changes::default()
        };
        if changes != same {
            self.surroundings.news.tell(Changed::ALL);
        }
        changes
    }

    /// From now on it decides on what servers ask of clients. Before, nothing of that passes.
    pub fn set_request_policy(&self, policy: Weak<dyn ServerRequestPolicy>) {
        // There is one gateway in a daemon.
        self.surroundings.requests.get_or_init(|| policy);
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.surroundings.catalog
    }

    pub fn pins(&self) -> &Arc<Pins> {
        &self.surroundings.pins
    }

    pub fn auth(&self) -> &Arc<Auth> {
        &self.surroundings.auth
    }

    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.surroundings.metrics
    }

    pub fn sources(&self) -> &Sources {
        &self.surroundings.sources
    }

    /// The files whose content some servers are made of, each with the server.
    pub fn description_files(&self) -> Vec<(PathBuf, Arc<Server>)> {
        let servers = self.read();
        let files = servers.values().filter_map(|server| {
            let Link::Source(source) = &server.definition().as_ref().ok()?.link else {
                return None;
            };
            match source.description.as_ref()? {
                Place::File(path) => Some((path.clone(), Arc::clone(server))),
                Place::Url(_) => None,
            }
        });
        files.collect()
    }

    pub fn news(&self) -> &News {
        &self.surroundings.news
    }

    /// A connection has ended: it follows no resource any more, and the sessions that were its own end.
    pub fn forget(&self, connection: u64) {
        for server in self.read().values() {
            server.forget(connection);
        }
    }

    /// A run has ended, and with it the sessions that were its own.
    pub fn run_over(&self, run: &str) {
        for server in self.read().values() {
            server.run_over(run);
        }
    }

    /// The sessions that can go over to another daemon.
    pub fn going(&self) -> Vec<Going> {
        self.all()
            .iter()
            .flat_map(|server| server.going())
            .collect()
    }

    /// A session of the daemon before us. If nobody wants it, it ends.
    pub fn receive(&self, handed: Handed) {
        let servers = self.all();
        let mut servers = servers.iter();
        match servers.find(|server| server.is_identity(&handed.state.place.server)) {
            Some(server) => server.receive(handed),
            // It may be a project's, and nobody who works there has come yet.
            None => self.surroundings.awaited.arrive(handed),
        }
    }

    /// So many servers start at the same time from now on.
    pub fn set_starts(&self, count: usize) {
        self.surroundings.starts.set(count);
    }

    /// Every server that is seen there, with the tools that it is known to have.
    pub fn known_seen(&self, scope: &Scope) -> Vec<Known> {
        let seen = self.all_seen(scope);
        scope.seen(seen.iter().map(|server| server.known()).collect())
    }

    pub fn all(&self) -> Vec<Arc<Server>> {
        self.read().values().cloned().collect()
    }

    /// Those of which an agent sees something.
    pub fn all_seen(&self, scope: &Scope) -> Vec<Arc<Server>> {
        let servers = self.read();
        let mut seen: Vec<_> = servers.values().filter(|s| is_seen(s, scope)).collect();
        seen.sort_by(|a, b| a.name().cmp(b.name()));
        seen.into_iter().cloned().collect()
    }

    /// A server by its name or by the spelling that programs use.
    pub fn find(&self, name: &str) -> Result<Arc<Server>, Fault> {
        self.find_seen(name, &Scope::default())
    }

    /// The same for an agent: a server of which it sees nothing is not there.
    pub fn find_seen(&self, name: &str, scope: &Scope) -> Result<Arc<Server>, Fault> {
        {
            let servers = self.read();
            let of_project = || {
                let root = Some(Arc::clone(&scope.project()?.root));
                servers.get(&mux_settings::key(name, root.as_deref()))
            };
            let spelled = || {
                let mut all = servers.values();
                all.find(|server| spell(server.name()) == name && is_seen(server, scope))
            };
            let exact = servers.get(name).or_else(of_project);
            let exact = exact.filter(|server| is_seen(server, scope));
            if let Some(server) = exact.or_else(spelled) {
                return Ok(Arc::clone(server));
            }
        }
        let seen = self.all_seen(scope);
        let known: Vec<&str> = seen.iter().map(|server| server.name()).collect();
        let fault = Fault::new(Kind::NotFound, format!("there is no server `{name}`"));
        if let Some(hint) = scope.project().and_then(|project| project.withholds(name)) {
            return Err(fault.hint(hint));
        }
        Err(
            match nearest_few(name, known.iter().copied(), 3).as_slice() {
                [] if known.is_empty() => fault.hints(
                    "no server is configured; see `mux servers`, and `mux status` if there should be one",
                    "no server is configured: the user can add one with `mux servers add`",
                ),
                [] => fault.hint(format!("known servers: {}", known.join(", "))),
                near => fault.hint(format!("did you mean `{}`?", near.join("` or `"))),
            },
        )
    }

    /// Ends every session and waits until the processes are gone.
    pub async fn close(&self) {
        let servers = std::mem::take(
            &mut *self
                .servers
                .write()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        );
        join_all(servers.values().map(|server| server.close())).await;
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<String, Arc<Server>>> {
        self.servers
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn is_seen(server: &Server, scope: &Scope) -> bool {
    scope.sees_project(server.project()) && !scope.hides_server(server.name())
}
