//! What all sessions of one server have in common.
//!
//! Invariant: what is known of a server is known of it as a whole; of several sessions the latest is right.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use super::{
    Session, Surroundings, breaker::Breaker, offer::Offer, places::Places, sharing::Sharing,
};
use mux_catalog::ToolSet;
use mux_settings::{Link, ServerDefinition};
use mux_telemetry::metrics::ServerMeters;

#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: String,
    /// Tells it apart from one of the same name in another project.
    pub(super) identity: String,
    pub(super) definition: ServerDefinition,
    pub(super) offer: Offer,
    pub(super) log: PathBuf,
    pub(super) surroundings: Surroundings,
    /// What is counted of it, whatever its definition was before.
    pub(super) meters: Arc<ServerMeters>,
    pub(super) sharing: Arc<Sharing>,
    /// Of the sessions that are no workspace's.
    pub(super) breaker: Arc<Breaker>,
    /// Of a server that runs elsewhere, whose capacity its sessions share. A process has its own.
    pub(super) places: Option<Arc<Places>>,
    facts: Mutex<Facts>,
    pub(super) calls: AtomicU64,
    pub(super) in_flight: AtomicU64,
}

/// As of the latest session.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) transport: Option<&'static str>,
    pub(super) identity: Option<String>,
    pub(super) protocol: Option<String>,
    pub(super) start_time: Option<Duration>,
    pub(super) starts: u64,
    /// Of no session that is open: as they were remembered, or last listed.
    pub(super) tools: Option<Arc<ToolSet>>,
    latest: Option<Arc<Session>>,
}

impl Family {
    /// Its name, and what tells it apart from one of the same name in another project.
    pub(super) fn new(
        (name, identity): (&str, &str),
        definition: &ServerDefinition,
        log: PathBuf,
        (surroundings, meters): (Surroundings, Arc<ServerMeters>),
    ) -> Arc<Self> {
        let offer = Offer::new(
            (name, identity),
            definition,
            Arc::clone(&surroundings.catalog),
            Arc::clone(&surroundings.pins),
        );
        let later = offer.is_long();
        let facts = Facts {
            tools: (!later).then(|| offer.recall()).flatten().map(Arc::new),
            ..Facts::default()
        };
        let elsewhere = !matches!(definition.link, Link::Process(_));
        let family = Arc::new(Self {
            name: name.to_owned(),
            identity: identity.to_owned(),
            log,
            sharing: Sharing::new(definition, offer.clone()),
            places: elsewhere.then(|| Places::new(definition.calls_at_once)),
            definition: definition.clone(),
            offer,
            meters,
            surroundings,
            breaker: Arc::default(),
            facts: Mutex::new(facts),
            calls: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
        });
        if later {
            family.recall_later();
        }
        family
    }

    /// A long list takes longer to read than a start should: until it is, the server counts as one that nobody knows.
    fn recall_later(self: &Arc<Self>) {
        let family = Arc::downgrade(self);
        let offer = self.offer.clone();
        tokio::task::spawn_blocking(move || {
            let tools = offer.recall().map(Arc::new);
            let Some(family) = family.upgrade() else {
                return;
            };
            let mut facts = family.locked();
            // A session that was quicker knows better.
            if facts.current_tools().is_none() {
                facts.tools = tools;
                drop(facts);
                family.offer.tell();
            }
        });
    }

    /// A session was opened. Whether its tools are other than those that were known.
    pub(super) fn opened(&self, session: &Arc<Session>) -> bool {
        let tools = session.tools().key;
        let mut facts = self.locked();
        let before = facts.current_tools().map(|tools| tools.key);
        let changed = before != Some(tools);
        *facts = Facts {
            transport: Some(session.transport),
            identity: session.identity.clone(),
            protocol: session.protocol.clone(),
            start_time: Some(session.start_time),
            starts: facts.starts + 1,
            // The session has them, and will have others.
            tools: None,
            latest: Some(Arc::clone(session)),
        };
        changed
    }

    /// A session has ended; its last list stays known.
    pub(super) fn over(&self, session: &Arc<Session>) {
        let mut facts = self.locked();
        if facts
            .latest
            .as_ref()
            .is_some_and(|latest| Arc::ptr_eq(latest, session))
        {
            facts.tools = facts.current_tools();
            facts.latest = None;
        }
    }

    pub(super) fn facts(&self) -> Facts {
        let facts = self.locked();
        Facts {
            tools: facts.current_tools(),
            ..facts.clone()
        }
    }

    pub(super) fn tools(&self) -> Option<Arc<ToolSet>> {
        self.locked().current_tools()
    }

    fn locked(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Facts {
    /// A session lists its tools again when its server says so.
    fn current_tools(&self) -> Option<Arc<ToolSet>> {
        let latest = self.latest.as_ref().map(|session| session.tools());
        latest.or_else(|| self.tools.clone())
    }
}
