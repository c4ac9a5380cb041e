//! The sessions to the user's MCP servers: opened when first needed, shared by all callers that may share one.
//!
//! Depends on the crates for settings, logins, the catalog, sources, the keeper, callers and telemetry. It knows no
//! policy, no run and no wire types of clients: a server's requests to a client go through a `ServerRequestPolicy`,
//! which the gateway implements.
//!
//! # Servers, slots, sessions
//!
//! A server has one slot for each key (user, workspace, client, run), and each slot has one task that owns its state.
//!
//! - `server` is one configured server with all its slots; `server_shared` is the state that its sessions share;
//!   `server_view` is a snapshot for readers; `server/server_handover` hands its sessions to the next daemon.
//! - `session_key` identifies the owner of a session, `sharing` decides which callers share one and why,
//!   `session_scope` determines the roots that a session's server gets. If `share` is unset, it is `user` until a
//!   server shows that it depends on the workspace (`${workspace}`, roots, or a short list of known servers): each
//!   server starts in its own fixed directory, so nothing else can depend on the workspace. A server that asks for
//!   roots is remembered: its session moves to the workspace for which it asked, and callers with another key get other
//!   sessions.
//! - `slot` is the slot of one session, with its `slot/slot_usage` and `slot/slot_handover`; `slot_shared` is the state
//!   that outlives its sessions. `slot_owner` is the task that owns it, `slot_owner/session_end` handles the end of its
//!   session, `slot_timers` retries after a backoff and closes unused sessions. `start_queue` performs one start,
//!   `start_limiter` limits how many servers start at once, `call_limiter` limits calls in flight with a fair queue,
//!   `unavailable` holds the errors for callers that get no session.
//! - `circuit_breaker` decides when a failed server is started again: each failure is followed by a backoff; five
//!   failures in a minute open the breaker, and one successful attempt closes it. `slot_owner` opens a session only if
//!   the breaker allows it. `liveness` pings a silent process and ends it after two unanswered pings, unless a call may
//!   be the reason for the silence. `session_health` collects the reasons why a server counts as degraded,
//!   `latency_baseline` detects that it has become slow.
//!
//! Callers with a call in flight when a session ends get `unknown_outcome`; the next caller gets a new session. A call
//! has two time limits: one for silence, which progress resets, and one for the whole call.
//!
//! # One session
//!
//! - `connect` goes from a definition to a ready session; `handshake` finds the era of the protocol; `session` is
//!   shared by many callers; `request` is one request from sending to its answer; `session_watch` follows the session
//!   to its end and sets the cause.
//! - `input_required` handles results that contain questions: the caller answers and the request is made again, at most
//!   eight times. `back_channel` detects tools that send requests of their own in an era without them. `tasks` polls
//!   calls that became tasks until they end, and cancels them with their caller.
//! - `tools_list` lists the tools, `server_catalog_entry` compares them with the pins and makes them callable,
//!   `tools_refresh` tracks announced changes, `parse_off_thread` lists the tools of a source on a blocking thread,
//!   `list_expiry` implements `ttlMs`. `resources_and_prompts` and `list_cache` handle resources, templates and
//!   prompts.
//! - `raw_message` keeps answers as JSON, so that over stdio nothing is lost that rmcp has no type for. `parse_message`
//!   checks the weight of messages and parses them, long ones on a blocking thread.
//! - `process_launcher` starts a server through the keeper, one keeper at a time; `stdio_transport` is JSON-RPC over
//!   its pipes; `stderr` writes its standard error to the log, with `log_stamp` as the prefix of each line.
//! - `incoming_sessions` (sessions expected from the previous daemon), `session_handover` (a session handed to the next
//!   one) and `request_ids` (request ids that outlive a daemon) implement the handover of sessions.
//!
//! A server of unknown era is probed with `server/discover`; after an error, silence or a closed pipe it gets
//! `initialize`, and the era that worked is remembered. A tool that sends a request of its own fails in the modern era:
//! `back_channel` detects it, and the next session is opened in the legacy era, unless the entry's `era` says
//! otherwise.
//!
//! `stdio_transport` replaces rmcp's own: a line that is too long ends the session instead of leaving a call waiting
//! forever, and lines that are not JSON-RPC go to the server's log.
//!
//! # The link to a server
//!
//! `link` carries a session: a process's pipes, streamable HTTP (`link/streamable_http`), HTTP+SSE of 2024-11-05
//! (`link/sse_transport`), or a source in this process (`link/in_process`). `link/http_exchange` makes every HTTP
//! request to a server: with the entry's headers and a token, to one origin, once; a second time only after a 401 or
//! 403, with another token. `link/token_provider` and `link/account_token_provider` supply the token,
//! `link/response_body` limits what a server sends, `link/long_messages` parses long messages ahead of rmcp,
//! `link/sse_backoff` delays the reopening of the event stream, `link/link_ending` keeps the first cause of the end,
//! and `link/link_error` says what happened to a message: not sent or session gone (both go to the next session, once),
//! sign-in required, declined, or lost (`unknown_outcome`).
//!
//! # Messages that servers send on their own
//!
//! rmcp spawns a task for every message that it does not wait for. `intercepting_transport` sits before it and handles
//! messages in order, with a fixed limit on unanswered requests (`intercepting_transport/unanswered_requests`).
//! `notification_router` routes them: progress to the call with that token (`in_flight`, `progress_meter`), the last
//! notification always before the answer; logs to the server's file; `list_changed` to `mux_caller`'s
//! `ListChangeNotifier`, but only if what the clients know is no longer true (`slot_shared`). `subscriptions_listen` is
//! the open request that makes a modern server send notifications; `resource_subscriptions` and `resource_subscribers`
//! follow resources; `url_elicitation` remembers URLs that users were asked to open.
//!
//! `client_request_handler` is the client side of the protocol towards a server. A question (elicitation, sampling,
//! roots) names no call. `server_requests` forwards it to the only connection that has calls in flight on that session,
//! and answers at once itself if there is none, if there are several, or if that one cannot answer. While the question
//! is open, the clocks of that connection's calls there and of their runs are paused. `question_text` sanitizes a
//! question's text.
//!
//! # A configured server's list of tools
//!
//! Every list of tools passes through `server_catalog_entry`, which compares it with the server's pins: a tool that
//! differs is shown by its pinned definition and its calls are refused. The gateway checks again before sending.
//!
//! Invariants:
//!
//! - Servers share nothing but the keeper. A server that is slow, dead or faulty delays no other.
//! - A call is sent at most once over one session.
//! - Locks are std's and span no `.await`, with two exceptions: `stdio_transport` keeps lines from interleaving, and
//!   `process_launcher` starts one keeper at a time.

mod back_channel;
mod call_limiter;
mod circuit_breaker;
mod client_request_handler;
mod connect;
mod handshake;
mod in_flight;
mod incoming_sessions;
mod input_required;
mod intercepting_transport;
mod latency_baseline;
mod link;
mod list_cache;
mod list_expiry;
mod liveness;
mod log_stamp;
mod notification_router;
mod parse_message;
mod parse_off_thread;
mod process_launcher;
mod progress_meter;
mod question_text;
mod raw_message;
mod request;
mod request_ids;
mod resource_subscribers;
mod resource_subscriptions;
mod resources_and_prompts;
mod server;
mod server_catalog_entry;
mod server_requests;
mod server_shared;
mod server_view;
mod session;
mod session_handover;
mod session_health;
mod session_key;
mod session_scope;
mod session_watch;
mod sharing;
mod slot;
mod slot_owner;
mod slot_shared;
mod slot_timers;
mod start_limiter;
mod start_queue;
mod stderr;
mod stdio_transport;
mod subscriptions_listen;
mod tasks;
mod tools_list;
mod tools_refresh;
mod unavailable;
mod url_elicitation;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::join_all;
use mux_typegen::names::spell;
use mux_wire::{Fault, FaultKind};
use parking_lot::RwLock;

pub use self::{
    back_channel::{BackChannelRemedy, NoBackChannel},
    process_launcher::ProcessLauncher,
    request::RequestOptions,
    resources_and_prompts::{ContentRequest, ListKind},
    server::{HeldSession, Server},
    server_requests::{RequestPolicy, ServerRequest, ServerRequestError, ServerRequestPolicy},
    server_view::{ServerView, SlotView, UpstreamState},
    session::{CallError, Session},
    session_key::CallerIdentity,
    slot::{CallInFlight, Slot},
    start_limiter::StartLimiter,
};
pub use self::{
    incoming_sessions::IncomingSessions,
    session_handover::{HandedSession, HandoverKey, HandoverState, OutgoingSession},
};
use mux_auth::Auth;
use mux_caller::{ListChangeNotifier, ListChanges};
use mux_catalog::{Catalog, KnownServer, Scope, pins::Pins};
use mux_settings::{DescriptionLocation, ServerEndpoint, ServerSettings};
use mux_sources::Sources;
use mux_telemetry::metrics::Metrics;
use mux_text::did_you_mean::nearest_few;

/// The dependencies of every server.
#[derive(Clone, Debug)]
pub struct ServerContext {
    pub launcher: ProcessLauncher,
    /// The directory for the servers' logs, one file each.
    pub logs: PathBuf,
    /// Remembers the servers' tools.
    pub catalog: Arc<Catalog>,
    /// The tools as they were when they were first trusted.
    pub pins: Arc<Pins>,
    /// Notified when the servers' lists change.
    pub news: Arc<ListChangeNotifier>,
    /// Limits the servers that start at the same time.
    pub starts: Arc<StartLimiter>,
    /// Provides the tokens for remote servers.
    pub auth: Arc<Auth>,
    /// APIs that the daemon calls itself, without a server.
    pub sources: Arc<Sources>,
    /// The sessions that the previous daemon hands over.
    pub awaited: IncomingSessions,
    /// The metrics of the servers.
    pub metrics: Arc<Metrics>,
    /// Decides on the servers' requests to clients, once it is set.
    pub requests: RequestPolicy,
}

/// All configured servers.
#[derive(Debug)]
pub struct Upstreams {
    surroundings: ServerContext,
    servers: RwLock<BTreeMap<String, Arc<Server>>>,
    /// Set when eager sessions are left to another daemon.
    leaving: AtomicBool,
}

/// The changes of the servers by a new configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerChanges {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
    pub unchanged: Vec<String>,
}

impl Upstreams {
    pub fn new(surroundings: ServerContext) -> Self {
        Self {
            surroundings,
            servers: RwLock::default(),
            leaving: AtomicBool::new(false),
        }
    }

    /// From now on sessions are opened only for callers.
    pub fn disable_eager_start(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Applies a configuration. Servers with an unchanged definition keep their sessions; calls in flight on the others
    /// finish on the old session, and their resource subscriptions continue.
    pub fn apply(&self, settings: &BTreeMap<String, ServerSettings>) -> ServerChanges {
        let mut changes = ServerChanges::default();
        let mut servers = self.servers.write();
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
                server.open_if_eager();
            }
            servers.insert(name.clone(), server);
        }
        drop(servers);
        self.surroundings.catalog.notify_changed();
        let same = ServerChanges {
            unchanged: changes.unchanged.clone(),
            ..ServerChanges::default()
        };
        if changes != same {
            self.surroundings.news.notify_changed(ListChanges::ALL);
        }
        changes
    }

    /// Sets the policy for servers' requests to clients. Until then, none is allowed.
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

    /// The local description files of sources, each with its server.
    pub fn description_files(&self) -> Vec<(PathBuf, Arc<Server>)> {
        let servers = self.read_servers();
        let files = servers.values().filter_map(|server| {
            let ServerEndpoint::Source(source) = &server.definition().as_ref().ok()?.link else {
                return None;
            };
            match source.description.as_ref()? {
                DescriptionLocation::File(path) => Some((path.clone(), Arc::clone(server))),
                DescriptionLocation::Url(_) => None,
            }
        });
        files.collect()
    }

    pub fn news(&self) -> &ListChangeNotifier {
        &self.surroundings.news
    }

    /// Handles the end of a connection: drops its resource subscriptions and its own sessions.
    pub fn connection_over(&self, connection: u64) {
        for server in self.read_servers().values() {
            server.forget(connection);
        }
    }

    /// Handles the end of a run: drops its own sessions.
    pub fn end_run(&self, run: &str) {
        for server in self.read_servers().values() {
            server.run_ended(run);
        }
    }

    /// The sessions that can be handed over to another daemon.
    pub fn outgoing_sessions(&self) -> Vec<OutgoingSession> {
        self.all()
            .iter()
            .flat_map(|server| server.handover_candidates())
            .collect()
    }

    /// Receives a session of the previous daemon. If no slot claims it, it is stopped.
    pub fn receive_session(&self, handed: HandedSession) {
        let servers = self.all();
        let mut servers = servers.iter();
        match servers.find(|server| server.has_identity(&handed.state.place.server)) {
            Some(server) => server.adopt_handed(handed),
            // It may belong to a project that no client has opened yet.
            None => self.surroundings.awaited.add_arrived(handed),
        }
    }

    /// Sets how many servers may start at the same time.
    pub fn set_start_limit(&self, count: usize) {
        self.surroundings.starts.set_limit(count);
    }

    /// Every server that is visible in the scope, with its known tools.
    pub fn known_visible(&self, scope: &Scope) -> Vec<KnownServer> {
        let seen = self.visible_servers(scope);
        scope.visible_servers(seen.iter().map(|server| server.known_tools()).collect())
    }

    pub fn all(&self) -> Vec<Arc<Server>> {
        self.read_servers().values().cloned().collect()
    }

    /// The servers that are visible in the scope, by name.
    pub fn visible_servers(&self, scope: &Scope) -> Vec<Arc<Server>> {
        let servers = self.read_servers();
        let mut seen: Vec<_> = servers.values().filter(|s| is_visible(s, scope)).collect();
        seen.sort_by(|a, b| a.name().cmp(b.name()));
        seen.into_iter().cloned().collect()
    }

    /// Finds a server by its name or by its spelling in programs.
    pub fn find(&self, name: &str) -> Result<Arc<Server>, Fault> {
        self.find_visible(name, &Scope::default())
    }

    /// Finds a server that is visible in the scope; any other one counts as missing.
    pub fn find_visible(&self, name: &str, scope: &Scope) -> Result<Arc<Server>, Fault> {
        {
            let servers = self.read_servers();
            let of_project = || {
                let root = Some(Arc::clone(&scope.project()?.root));
                servers.get(&mux_settings::key(name, root.as_deref()))
            };
            let spelled = || {
                let mut all = servers.values();
                all.find(|server| spell(server.name()) == name && is_visible(server, scope))
            };
            let exact = servers.get(name).or_else(of_project);
            let exact = exact.filter(|server| is_visible(server, scope));
            if let Some(server) = exact.or_else(spelled) {
                return Ok(Arc::clone(server));
            }
        }
        let seen = self.visible_servers(scope);
        let known: Vec<&str> = seen.iter().map(|server| server.name()).collect();
        let fault = Fault::new(FaultKind::NotFound, format!("there is no server `{name}`"));
        if let Some(hint) = scope
            .project()
            .and_then(|project| project.withheld_server_hint(name))
        {
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
        let servers = std::mem::take(&mut *self.servers.write());
        join_all(servers.values().map(|server| server.close())).await;
    }

    fn read_servers(&self) -> parking_lot::RwLockReadGuard<'_, BTreeMap<String, Arc<Server>>> {
        self.servers.read()
    }
}

fn is_visible(server: &Server, scope: &Scope) -> bool {
    scope.sees_project(server.project()) && !scope.hides_server(server.name())
}
