//! All configured servers.
//!
//! Invariant: a new configuration replaces only the servers whose definition has changed.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::future::join_all;
use mux_typegen::names::spell;
use mux_wire::{Fault, FaultKind};
use parking_lot::RwLock;

use crate::{
    server::{OutgoingSession, Server, ServerContext},
    server_messages::ServerRequestPolicy,
    session::HandedSession,
};
use mux_auth::Auth;
use mux_caller::{ListChangeNotifier, ListChanges};
use mux_catalog::{Catalog, KnownServer, Scope, pins::Pins};
use mux_settings::{DescriptionLocation, ServerSettings};
use mux_sources::Sources;
use mux_telemetry::metrics::Metrics;
use mux_text::did_you_mean::nearest_few;

/// All configured servers.
#[derive(Debug)]
pub struct Upstreams {
    context: ServerContext,
    servers: RwLock<BTreeMap<String, Arc<Server>>>,
    /// Set when eager sessions are left to another daemon.
    eager_disabled: AtomicBool,
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
    pub fn new(context: ServerContext) -> Self {
        Self {
            context,
            servers: RwLock::default(),
            eager_disabled: AtomicBool::new(false),
        }
    }

    /// Makes sessions open only for callers from now on.
    pub fn disable_eager_start(&self) {
        self.eager_disabled.store(true, Ordering::Relaxed);
    }

    /// Starts servers that were called within this time in the background, if their entries allow it.
    pub fn prestart(&self, within: Duration) {
        let called_since = SystemTime::now().checked_sub(within);
        for server in self.all() {
            server.prestart(called_since.unwrap_or(UNIX_EPOCH));
        }
    }

    /// Applies a configuration. Servers with an unchanged definition keep their sessions. Calls in flight on the others
    /// finish on the old session, and their resource subscriptions continue.
    pub fn apply(&self, settings: &BTreeMap<String, ServerSettings>) -> ServerChanges {
        let mut changes = ServerChanges::default();
        let mut servers = self.servers.write();
        servers.retain(|name, server| {
            let kept = settings.contains_key(name);
            if !kept {
                changes.removed.push(name.clone());
                server.retire();
                server.forget_sandbox();
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
            let server = Server::new(wanted.clone(), &self.context, before.map(|b| &**b));
            if !self.eager_disabled.load(Ordering::Relaxed) {
                server.open_if_eager();
            }
            servers.insert(name.clone(), server);
        }
        drop(servers);
        self.context.catalog.notify_changed();
        let same = ServerChanges {
            unchanged: changes.unchanged.clone(),
            ..ServerChanges::default()
        };
        if changes != same {
            self.context.list_changes.notify_changed(ListChanges::ALL);
        }
        changes
    }

    /// Sets the policy for servers' requests to clients. Until then, no request is allowed.
    pub fn set_request_policy(&self, policy: Weak<dyn ServerRequestPolicy>) {
        // There is one gateway in a daemon.
        self.context.request_policy.get_or_init(|| policy);
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.context.catalog
    }

    pub fn pins(&self) -> &Arc<Pins> {
        &self.context.pins
    }

    pub fn auth(&self) -> &Arc<Auth> {
        &self.context.auth
    }

    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.context.metrics
    }

    pub fn sources(&self) -> &Sources {
        &self.context.sources
    }

    /// The local description files of sources, each with its server.
    pub fn description_files(&self) -> Vec<(PathBuf, Arc<Server>)> {
        let servers = self.servers.read();
        let files =
            servers
                .values()
                .filter_map(|server| match server.source()?.description.as_ref()? {
                    DescriptionLocation::File(path) => Some((path.clone(), Arc::clone(server))),
                    DescriptionLocation::Url(_) => None,
                });
        files.collect()
    }

    pub fn news(&self) -> &ListChangeNotifier {
        &self.context.list_changes
    }

    /// Handles the end of a connection: drops its resource subscriptions and its own sessions.
    pub fn connection_over(&self, connection: u64) {
        for server in self.servers.read().values() {
            server.forget(connection);
        }
    }

    /// Handles the end of a run: drops its own sessions.
    pub fn end_run(&self, run: &str) {
        for server in self.servers.read().values() {
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

    /// Receives a session of the previous daemon. If no slot claims the session, it is stopped.
    pub fn receive_session(&self, handed: HandedSession) {
        let servers = self.all();
        let mut servers = servers.iter();
        match servers.find(|server| server.has_identity(&handed.state.place.server)) {
            Some(server) => server.adopt_handed(handed),
            // The server may belong to a project that no client has opened yet.
            None => self.context.incoming_sessions.add_arrived(handed),
        }
    }

    /// Sets how many servers may start at the same time.
    pub fn set_start_limit(&self, count: usize) {
        self.context.start_limiter.set_limit(count);
    }

    /// Every server that is visible in the scope, with its known tools.
    pub fn known_visible(&self, scope: &Scope) -> Vec<KnownServer> {
        let visible = self.visible_servers(scope);
        scope.visible_servers(visible.iter().map(|server| server.known_tools()).collect())
    }

    pub fn all(&self) -> Vec<Arc<Server>> {
        self.servers.read().values().cloned().collect()
    }

    /// The servers that are visible in the scope, by name.
    pub fn visible_servers(&self, scope: &Scope) -> Vec<Arc<Server>> {
        let servers = self.servers.read();
        let mut visible: Vec<_> = servers.values().filter(|s| is_visible(s, scope)).collect();
        visible.sort_by(|a, b| a.name().cmp(b.name()));
        visible.into_iter().cloned().collect()
    }

    /// Finds a server by its name or by its name in programs.
    pub fn find(&self, name: &str) -> Result<Arc<Server>, Fault> {
        self.find_visible(name, &Scope::default())
    }

    /// Finds a server that is visible in the scope. Any other counts as missing.
    pub fn find_visible(&self, name: &str, scope: &Scope) -> Result<Arc<Server>, Fault> {
        {
            let servers = self.servers.read();
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
        let visible = self.visible_servers(scope);
        let names: Vec<&str> = visible.iter().map(|server| server.name()).collect();
        let fault = Fault::new(FaultKind::NotFound, format!("there is no server `{name}`"));
        if let Some(hint) = scope
            .project()
            .and_then(|project| project.withheld_server_hint(name))
        {
            return Err(fault.hint(hint));
        }
        Err(
            match nearest_few(name, names.iter().copied(), 3).as_slice() {
                [] if names.is_empty() => fault.hints(
                    "no server is configured; see `mux servers`, and `mux status` if there should be one",
                    "no server is configured: the user can add one with `mux servers add`",
                ),
                [] => fault.hint(format!("known servers: {}", names.join(", "))),
                near => fault.hint(format!("did you mean `{}`?", near.join("` or `"))),
            },
        )
    }

    /// Ends every session and waits until the processes are gone.
    pub async fn close(&self) {
        let servers = std::mem::take(&mut *self.servers.write());
        join_all(servers.values().map(|server| server.close())).await;
    }
}

fn is_visible(server: &Server, scope: &Scope) -> bool {
    scope.sees_project(server.project()) && !scope.hides_server(server.name())
}
