//! The state that all sessions of one server share.
//!
//! Invariant: facts are known about the server as a whole. Of several sessions, the latest counts.

use std::{
    path::Display,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use parking_lot::Mutex;

use super::{
    circuit_breaker::CircuitBreaker, secret_results::SecretResults, server_context::ServerContext,
};
use crate::{
    calls::CallLimiter,
    link::{Repairs, SandboxState, ServerIdentity, ServerLauncher},
    listing::ServerCatalogEntry,
    session::Session,
    sharing::SessionSharing,
};
use mux_catalog::ToolSet;
use mux_confine::DeniedFiles;
use mux_settings::{ServerDefinition, ServerEndpoint};
use mux_telemetry::metrics::ServerMeters;

#[derive(Debug)]
pub(crate) struct ServerShared {
    pub(crate) name: String,
    /// Distinguishes the server from a server of the same name in another project.
    pub(crate) identity: ServerIdentity,
    pub(crate) definition: ServerDefinition,
    pub(crate) catalog_entry: ServerCatalogEntry,
    pub(super) context: ServerContext,
    /// The metrics of the server, kept across definitions.
    pub(super) meters: Arc<ServerMeters>,
    pub(super) sharing: Arc<SessionSharing>,
    /// The breaker for all sessions except those of a workspace.
    pub(super) breaker: Arc<CircuitBreaker>,
    /// The limiter of a server that is not a process, whose sessions share its capacity. A process has its own limiter.
    pub(super) call_limiter: Option<Arc<CallLimiter>>,
    facts: Mutex<LatestSessionFacts>,
    pub(super) calls: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(super) secret_results: SecretResults,
    pub(super) denied_files: DeniedFiles,
}

/// Facts from the latest session.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatestSessionFacts {
    pub(super) transport: Option<&'static str>,
    pub(super) sandbox_layers: Vec<String>,
    pub(crate) identity: Option<String>,
    pub(super) protocol: Option<String>,
    pub(super) start_time: Option<Duration>,
    pub(super) starts: u64,
    /// The remembered or last listed tools, while no session is open.
    pub(crate) tools: Option<Arc<ToolSet>>,
    latest: Option<Arc<Session>>,
}

impl ServerShared {
    pub(crate) fn new(
        name: &str,
        identity: ServerIdentity,
        definition: &ServerDefinition,
        context: ServerContext,
        meters: Arc<ServerMeters>,
    ) -> Arc<Self> {
        let catalog_entry = ServerCatalogEntry::new(
            (name, identity.key()),
            definition,
            Arc::clone(&context.catalog),
            Arc::clone(&context.pins),
        );
        let in_background = catalog_entry.is_long();
        let facts = LatestSessionFacts {
            tools: (!in_background)
                .then(|| catalog_entry.recall_tools())
                .flatten()
                .map(Arc::new),
            ..LatestSessionFacts::default()
        };
        let elsewhere = !matches!(definition.endpoint, ServerEndpoint::Process(_));
        let server_shared = Arc::new(Self {
            name: name.to_owned(),
            identity,
            sharing: SessionSharing::new(definition, catalog_entry.clone()),
            call_limiter: elsewhere.then(|| CallLimiter::new(definition.calls_at_once)),
            definition: definition.clone(),
            catalog_entry,
            meters,
            context,
            breaker: Arc::default(),
            facts: Mutex::new(facts),
            calls: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            secret_results: SecretResults::default(),
            denied_files: DeniedFiles::default(),
        });
        if in_background {
            server_shared.recall_tools_in_background();
        }
        server_shared
    }

    /// Loads the remembered tools in the background: a long list takes longer than a start should. Until then the tools
    /// are unknown.
    fn recall_tools_in_background(self: &Arc<Self>) {
        let server_shared = Arc::downgrade(self);
        let catalog_entry = self.catalog_entry.clone();
        tokio::task::spawn_blocking(move || {
            let tools = catalog_entry.recall_tools().map(Arc::new);
            let Some(server_shared) = server_shared.upgrade() else {
                return;
            };
            let mut facts = server_shared.facts.lock();
            // A session that opened meanwhile has newer tools.
            if facts.current_tools().is_none() {
                facts.tools = tools;
                drop(facts);
                server_shared.catalog_entry.publish_tools();
            }
        });
    }

    pub(super) fn sandbox_state(&self) -> SandboxState {
        SandboxState {
            layers: self.facts.lock().sandbox_layers.clone(),
            refused: self.context.launcher.refused_connections(&self.identity),
        }
    }

    /// The files that were lost with the empty homes of its sandboxes, as a warning.
    pub(super) fn discarded_files_warning(&self) -> Option<String> {
        let files = self.context.launcher.discarded_files(&self.identity);
        let shown = files
            .iter()
            .take(3)
            .map(|path| format!("~/{}", path.display()));
        let shown: Vec<String> = shown.collect();
        if shown.is_empty() {
            return None;
        }
        let more = match files.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "files that it wrote into the empty home of its sandbox were lost when its session ended: {}{more}",
            shown.join(", ")
        ))
    }

    /// Forgets the sandbox of a server that is no longer configured.
    pub(super) fn forget_sandbox(&self) {
        self.context.launcher.forget(&self.identity);
    }

    /// The launcher, and the identity by which it knows the server.
    pub(super) fn launcher(&self) -> (&dyn ServerLauncher, &ServerIdentity) {
        (&*self.context.launcher, &self.identity)
    }

    /// The path of the server's log, if the server has written one.
    pub(super) fn existing_log(&self) -> Option<Display<'_>> {
        let log = self.identity.log();
        log.is_file().then(|| log.display())
    }

    /// Records an opened session. Returns true if its tools differ from the known tools.
    pub(super) fn session_opened(&self, session: &Arc<Session>) -> bool {
        let tools = session.tools().key;
        let mut facts = self.facts.lock();
        let before = facts.current_tools().map(|tools| tools.key);
        let changed = before != Some(tools);
        *facts = LatestSessionFacts {
            transport: Some(session.transport),
            sandbox_layers: session.sandbox_layers.clone(),
            identity: session.identity.clone(),
            protocol: session.protocol.clone(),
            start_time: Some(session.start_time),
            starts: facts.starts + 1,
            // The session holds and updates the tools.
            tools: None,
            latest: Some(Arc::clone(session)),
        };
        changed
    }

    /// Records the end of a session, whose last list stays known.
    pub(super) fn session_over(&self, session: &Arc<Session>) {
        let mut facts = self.facts.lock();
        if facts
            .latest
            .as_ref()
            .is_some_and(|latest| Arc::ptr_eq(latest, session))
        {
            facts.tools = facts.current_tools();
            facts.latest = None;
        }
    }

    pub(super) fn facts(&self) -> LatestSessionFacts {
        let facts = self.facts.lock();
        LatestSessionFacts {
            tools: facts.current_tools(),
            ..facts.clone()
        }
    }

    /// Warnings for the user about the lists of the latest session.
    pub(super) fn list_warnings(&self) -> Vec<String> {
        let latest = self.facts.lock().latest.clone();
        latest.map_or_else(Vec::new, |session| session.list_warnings())
    }

    /// The repairs in the messages of the latest session.
    pub(super) fn repairs(&self) -> Option<Arc<Repairs>> {
        let session = self.latest_session()?;
        Some(Arc::clone(&session.repairs))
    }

    pub(super) fn latest_session(&self) -> Option<Arc<Session>> {
        self.facts.lock().latest.clone()
    }

    pub(crate) fn tools(&self) -> Option<Arc<ToolSet>> {
        self.facts.lock().current_tools()
    }

    /// True if the user has signed in at the server, or has to.
    pub(super) fn has_login(&self) -> bool {
        let ServerEndpoint::Remote(remote) = &self.definition.endpoint else {
            return false;
        };
        let account = self.context.auth.account(remote);
        account.is_some_and(|account| account.login_status().is_some())
    }
}

impl LatestSessionFacts {
    /// The tools of the latest session, which follow its updates, or the remembered ones.
    fn current_tools(&self) -> Option<Arc<ToolSet>> {
        let latest = self.latest.as_ref().map(|session| session.tools());
        latest.or_else(|| self.tools.clone())
    }
}
