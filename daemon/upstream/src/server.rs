//! One configured server: its sessions, one for each key, and what is known of it as a whole.
//!
//! Invariant: a caller gets a session of its own key or none. A session that changes hands, because its
//! server turned out to depend on the workspace, is nobody else's from that moment on.

mod handing;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use futures::future::join_all;
use mux_wire::Fault;

use super::{
    Session, Surroundings,
    beside::Audience,
    family::Family,
    key::{Key, Whose},
    offers::OfferKind,
    refusals,
    slot::{Event, Slot},
    subscriptions::retired,
    tenant::Tenant,
};
use mux_catalog::{Known, ToolSet, pins::PinKey};
use mux_settings::{ServerDefinition, ServerSettings, Share};
use mux_telemetry::metrics::ServerMeters;

/// Sessions of one server. One that nobody uses makes room for another.
pub(super) const MOST_SLOTS: usize = 16;
/// How often somebody is sent on to another slot before it is a mistake.
const MOST_MOVES: usize = 4;

/// A server and the way to its sessions.
#[derive(Debug)]
pub struct Server {
    me: Weak<Self>,
    name: String,
    project: Option<Arc<Path>>,
    definition: Result<ServerDefinition, String>,
    meters: Arc<ServerMeters>,
    /// None if the definition is no good.
    pub(super) family: Option<Arc<Family>>,
    slots: Mutex<Slots>,
}

/// Guarded by `Server::slots`.
#[derive(Debug, Default)]
struct Slots {
    by_key: HashMap<Key, Arc<Slot>>,
    /// Who listens where, whether or not there is a slot, and across definitions.
    audiences: HashMap<Key, Audience>,
    retired: bool,
}

/// A session that somebody was given, and its place.
#[derive(Clone, Debug)]
pub struct Held {
    pub slot: Arc<Slot>,
    pub session: Arc<Session>,
}

impl Server {
    /// With the place of the one `before`, it takes over what clients know of it and who follows its resources.
    pub(super) fn new(
        settings: ServerSettings,
        surroundings: &Surroundings,
        before: Option<&Self>,
    ) -> Arc<Self> {
        let identity = settings.identity();
        let log = surroundings.logs.join(format!("{identity}.log"));
        let definition = settings.definition.as_ref().ok();
        let names = (settings.name.as_str(), identity.as_str());
        let meters = surroundings.metrics.server(&identity);
        let family = definition.map(|definition| {
            let around = (surroundings.clone(), Arc::clone(&meters));
            Family::new(names, definition, log, around)
        });
        let slots = Slots {
            audiences: before.map_or_else(HashMap::new, |before| before.slots().audiences.clone()),
            ..Slots::default()
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            name: settings.name,
            project: settings.project,
            definition: settings.definition,
            meters,
            family,
            slots: Mutex::new(slots),
        })
    }

    /// Opens a session that is to be open from the beginning. One that not everybody shares waits for the
    /// first who needs it.
    pub(super) fn wake(&self) {
        let Some(family) = &self.family else { return };
        if family.definition.eager
            && family.sharing.now().share == Share::User
            && let Ok(slot) = self.slot(&Whose::default())
        {
            // It was made a moment ago.
            _ = slot.tell(Event::Wake);
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The directory whose file defines it, for a server that is not the user's own.
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    pub fn definition(&self) -> &Result<ServerDefinition, String> {
        &self.definition
    }

    /// Whether there is any session now.
    pub fn is_open(&self) -> bool {
        let slots = self.slots();
        let mut all = slots.by_key.values();
        all.any(|slot| slot.open_session().is_some())
    }

    /// The caller's session if it is open now.
    pub fn open_session(&self, whose: &Whose) -> Option<Held> {
        let key = self.family.as_ref()?.sharing.key(whose).ok()?;
        let slot = Arc::clone(self.slots().by_key.get(&key)?);
        // Before it is looked whether it is open: from here on it does not go over to another daemon.
        slot.used_by(whose);
        let session = slot.open_session()?;
        Some(Held { slot, session })
    }

    /// The caller's session, or a new one.
    pub async fn session(&self, whose: &Whose) -> Result<Held, Fault> {
        for _ in 0..MOST_MOVES {
            let slot = self.slot(whose)?;
            // It was given up meanwhile, and there may be another.
            let Ok(outcome) = slot.session(whose).await else {
                continue;
            };
            let session = outcome?;
            // Its server may have asked for roots meanwhile, and be another workspace's now.
            if self.serves(&slot, whose) {
                return Ok(Held { slot, session });
            }
        }
        Err(retired(&self.name))
    }

    /// Whether the slot is this caller's now.
    pub fn serves(&self, slot: &Slot, whose: &Whose) -> bool {
        self.key(whose).is_ok_and(|key| slot.tenant.key() == key)
    }

    /// Under which its tools are pinned.
    pub fn pin_key(&self) -> Result<PinKey, Fault> {
        Ok(self.family()?.offer.pinned.clone())
    }

    /// What is counted of it.
    pub fn meters(&self) -> &Arc<ServerMeters> {
        &self.meters
    }

    fn family(&self) -> Result<&Arc<Family>, Fault> {
        self.family.as_ref().ok_or_else(|| {
            let problem = self.definition.as_ref().err().map_or("", String::as_str);
            refusals::broken(&self.name, problem)
        })
    }

    fn key(&self, whose: &Whose) -> Result<Key, Fault> {
        let key = self.family()?.sharing.key(whose);
        key.map_err(|_| refusals::nowhere(&self.name))
    }

    /// The caller's slot, made now if need be.
    fn slot(&self, whose: &Whose) -> Result<Arc<Slot>, Fault> {
        let (family, key) = (self.family()?, self.key(whose)?);
        let mut slots = self.slots();
        if slots.retired {
            return Err(retired(&self.name));
        }
        if let Some(slot) = slots.by_key.get(&key) {
            return Ok(Arc::clone(slot));
        }
        if slots.by_key.len() >= MOST_SLOTS && !slots.make_room() {
            return Err(refusals::full(family));
        }
        let tenant = Tenant::new(self.me.clone(), key.clone(), whose.workspace.clone());
        let audience = slots.audiences.entry(key.clone()).or_default().clone();
        let slot = Slot::start(family, tenant, audience);
        slots.by_key.insert(key, Arc::clone(&slot));
        Ok(slot)
    }

    /// A session's server asks for roots: it depends on the workspace. If nobody has said who shares it, it
    /// belongs to the workspace of the one for whom it asks.
    pub(super) fn asked_for_roots(&self, tenant: &Tenant, workspace: Option<PathBuf>) {
        let Some(family) = &self.family else { return };
        // Nobody gets a slot by the old rule while the session changes hands.
        let mut slots = self.slots();
        family.sharing.asked_for_roots();
        let Some(workspace) = workspace.filter(|_| family.sharing.is_found_out()) else {
            return;
        };
        let key = Key::Workspace(workspace.clone());
        if tenant.key() != Key::User || slots.by_key.contains_key(&key) {
            return;
        }
        let is_it = |slot: &Arc<Slot>| std::ptr::eq(Arc::as_ptr(&slot.tenant), tenant);
        if slots.by_key.get(&Key::User).is_some_and(is_it)
            && let Some(slot) = slots.by_key.remove(&Key::User)
        {
            tenant.moves_to(workspace.clone());
            // One that has ended has nothing due.
            _ = slot.tell(Event::Moved);
            if let Some(audience) = slots.audiences.remove(&Key::User) {
                // Those of other workspaces wait for the sessions of their own.
                for other in audience.subscribers.part(&workspace) {
                    let key = other.workspace.clone().map_or(Key::User, Key::Workspace);
                    let theirs = slots.audiences.entry(key).or_default();
                    theirs.subscribers.take(other);
                }
                slots.audiences.insert(key.clone(), audience);
            }
            slots.by_key.insert(key, slot);
        }
    }

    /// The tools that it is known to have, connected or not.
    pub fn tools(&self) -> Option<Arc<ToolSet>> {
        self.family.as_ref()?.tools()
    }

    /// With the types that go with them.
    pub fn known(&self) -> Known {
        let tools = self.tools();
        let note = match (&tools, self.is_open()) {
            (Some(_), true) => None,
            (Some(_), false) => {
                Some("not connected; these are its tools as of its last session".into())
            }
            (None, _) => {
                let reason = self.view().reason;
                Some(reason.unwrap_or_else(|| "its tools are not known yet".into()))
            }
        };
        Known {
            name: self.name.clone(),
            tools,
            note,
        }
    }

    /// Closes all sessions that there are and opens them again, and those that could not be opened, and the
    /// caller's. What went wrong before is forgotten.
    pub async fn restart(&self, whose: &Whose) -> Result<(), Fault> {
        self.family()?.breaker.reset();
        let own = self.slot(whose);
        let is_own = |slot: &Arc<Slot>| own.as_ref().is_ok_and(|own| Arc::ptr_eq(own, slot));
        let mut these = self.all();
        these.retain(|slot| slot.is_up() || slot.has_failed() || is_own(slot));
        if these.is_empty() {
            own?;
        }
        let outcomes = join_all(these.iter().map(|slot| slot.restart())).await;
        // One that was given up meanwhile need not come back.
        let faults = outcomes
            .into_iter()
            .filter_map(|outcome| outcome.ok()?.err());
        faults.take(1).next().map_or(Ok(()), Err)
    }

    /// The server cannot be asked for its offers.
    pub fn withholds(&self, whose: &Whose, kind: OfferKind) {
        let key = self.key(whose).ok();
        let slot = key.and_then(|key| self.slots().by_key.get(&key).cloned());
        if let Some(slot) = slot {
            slot.beside.tell(kind, None);
        }
    }

    /// From now on the connection is told no more.
    pub async fn leave(&self, uri: &str, connection: u64) {
        let audiences: Vec<Audience> = self.slots().audiences.values().cloned().collect();
        let slots = self.all();
        let follows = |slot: &&Arc<Slot>| slot.beside.subscribers.has(uri, connection);
        join_all(
            slots
                .iter()
                .filter(follows)
                .map(|slot| slot.leave(uri, connection)),
        )
        .await;
        for audience in audiences {
            audience.subscribers.leave(uri, connection);
        }
    }

    /// The connection has ended.
    pub(super) fn forget(&self, connection: u64) {
        self.end(&Key::Client(connection), "its client has gone");
        let mut slots = self.slots();
        let Slots {
            by_key, audiences, ..
        } = &mut *slots;
        audiences.retain(|key, audience| match by_key.get(key) {
            Some(slot) => {
                slot.forget(connection);
                true
            }
            None => {
                audience.subscribers.forget(connection);
                audience.subscribers.any()
            }
        });
    }

    /// The run has ended.
    pub(super) fn run_over(&self, run: &str) {
        for slot in self.all() {
            slot.run_over(run);
        }
        self.end(&Key::Run(run.to_owned()), "its run has ended");
    }

    /// The slot and its session, now.
    fn end(&self, key: &Key, why: &'static str) {
        let mut slots = self.slots();
        slots.audiences.remove(key);
        if let Some(slot) = slots.by_key.remove(key) {
            slot.retire(why, true);
        }
    }

    /// Out of the configuration: no new callers; the sessions end with their last calls.
    pub(super) fn retire(&self) {
        for slot in self.give_up() {
            slot.retire("the server was removed or changed", false);
        }
    }

    /// Ends all sessions now and waits for it.
    pub(super) async fn close(&self) {
        let slots = self.give_up();
        join_all(slots.iter().map(|slot| slot.close())).await;
    }

    fn give_up(&self) -> Vec<Arc<Slot>> {
        let mut slots = self.slots();
        slots.retired = true;
        slots.by_key.drain().map(|(_, slot)| slot).collect()
    }

    pub(super) fn all(&self) -> Vec<Arc<Slot>> {
        self.slots().by_key.values().cloned().collect()
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    /// Gives up the slot that was not used for the longest time; false if all are in use.
    fn make_room(&mut self) -> bool {
        let unused = self.by_key.iter();
        let unused = unused.filter_map(|(key, slot)| Some((slot.unused_since()?, key.clone())));
        let Some((_, key)) = unused.min() else {
            return false;
        };
        self.audiences.remove(&key);
        if let Some(slot) = self.by_key.remove(&key) {
            slot.retire("it made room for the session of another", false);
        }
        true
    }
}
