//! One configured server: its slots, one for each key, and its shared state.
//!
//! Invariant: a caller gets only a session with its own key. A session that moves to another key, because its server
//! turned out to depend on the workspace, serves no other key from that moment on.

mod circuit_breaker;
mod secret_results;
mod server_context;
mod server_handover;
mod server_observation;
mod server_shared;
mod server_view;
mod slot;
mod start_limiter;
mod unavailable;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Weak, atomic::Ordering},
    time::SystemTime,
};

use futures::future::join_all;
use mux_process::blocking_pool;
use mux_wire::Fault;
use parking_lot::Mutex;
use serde_json::Value;

pub use self::{
    server_context::ServerContext,
    server_view::ServerView,
    slot::{CallInFlight, OutgoingSession, Slot, SlotView},
    start_limiter::StartLimiter,
};
use self::{server_shared::ServerShared, slot::SlotEvent, unavailable::server_retired_fault};
use crate::{
    link::{ServerIdentity, without_output},
    listing::ListKind,
    session::Session,
    sharing::{CallerIdentity, RootsObserver, SessionKey, SessionScope, SlotClientState},
};
use mux_catalog::{KnownServer, ToolSet, pins::PinKey};
use mux_settings::{
    EntryError, ProcessServer, RemoteServer, ServerDefinition, ServerEndpoint, ServerSettings,
    ShareMode, SourceDefinition, StartMode,
};
use mux_telemetry::metrics::ServerMeters;

/// The maximum number of slots of one server. An unused slot makes room for a new one.
const MAX_SERVER_SLOTS: usize = 16;
/// The maximum number of retries for a caller whose slot was retired or moved meanwhile.
const MAX_SLOT_MOVES: usize = 4;

/// A configured server and its slots.
#[derive(Debug)]
pub struct Server {
    me: Weak<Self>,
    name: String,
    project: Option<Arc<Path>>,
    definition: Result<ServerDefinition, EntryError>,
    meters: Arc<ServerMeters>,
    /// `None` if the definition is invalid.
    #[expect(clippy::struct_field_names, reason = "`slots` are also shared")]
    server_shared: Option<Arc<ServerShared>>,
    slots: Mutex<ServerSlots>,
}

/// The state that `Server::slots` guards.
#[derive(Debug, Default)]
struct ServerSlots {
    by_key: HashMap<SessionKey, Arc<Slot>>,
    /// The clients' state for each key, whether or not it has a slot. Kept across definitions.
    client_states: HashMap<SessionKey, SlotClientState>,
    retired: bool,
}

/// A session for a caller, and its slot.
#[derive(Clone, Debug)]
pub struct HeldSession {
    pub slot: Arc<Slot>,
    pub session: Arc<Session>,
}

impl Server {
    /// Creates the server, with the clients' state from `before`: known lists and resource subscriptions.
    pub(crate) fn new(
        settings: ServerSettings,
        context: &ServerContext,
        before: Option<&Self>,
    ) -> Arc<Self> {
        let identity = settings.identity();
        let definition = settings.definition.as_ref().ok();
        let meters = context.metrics.server(&identity);
        let server_shared = definition.map(|definition| {
            let identity = ServerIdentity::new(identity, &context.logs);
            let meters = Arc::clone(&meters);
            ServerShared::new(
                &settings.name,
                identity,
                definition,
                context.clone(),
                meters,
            )
        });
        let slots = ServerSlots {
            client_states: before.map_or_else(HashMap::new, |before| {
                before.slots.lock().client_states.clone()
            }),
            ..ServerSlots::default()
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            name: settings.name,
            project: settings.project,
            definition: settings.definition,
            meters,
            server_shared,
            slots: Mutex::new(slots),
        })
    }

    /// Opens the session of an eager server. If not all clients share the session, it opens with the first caller
    /// instead.
    pub(crate) fn open_if_eager(&self) {
        let is_eager =
            |server_shared: &ServerShared| server_shared.definition.start == StartMode::Eager;
        self.open_user_session_if(is_eager, SlotEvent::Wake);
    }

    /// Opens the session in the background if the server was called at this time or later, and all clients share it.
    /// Project servers, and servers that need a login, open with the first caller.
    pub(crate) fn prestart(&self, called_since: SystemTime) {
        let is_due = |server_shared: &ServerShared| {
            server_shared.definition.start == StartMode::Auto
                && self.project.is_none()
                && !server_shared.has_login()
                && server_shared
                    .catalog_entry
                    .last_call()
                    .is_some_and(|last_call| last_call >= called_since)
        };
        self.open_user_session_if(is_due, SlotEvent::Prestart);
    }

    /// Opens the session that all clients share, if there is such a session and it is due.
    fn open_user_session_if(&self, is_due: impl Fn(&ServerShared) -> bool, opening: SlotEvent) {
        let Some(server_shared) = &self.server_shared else {
            return;
        };
        if is_due(server_shared)
            && server_shared.sharing.current_sharing().share == ShareMode::User
            && let Ok(slot) = self.slot(&CallerIdentity::default())
        {
            // The slot was just created.
            _ = slot.send_event(opening);
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The root of the project that defines the server. `None` for the user's servers.
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    pub fn definition(&self) -> &Result<ServerDefinition, EntryError> {
        &self.definition
    }

    /// How the server is reached. `None` if its entry cannot be used.
    pub fn endpoint(&self) -> Option<&ServerEndpoint> {
        let definition = self.definition.as_ref().ok();
        definition.map(|definition| &definition.endpoint)
    }

    pub fn process(&self) -> Option<&ProcessServer> {
        match self.endpoint()? {
            ServerEndpoint::Process(process) => Some(process),
            ServerEndpoint::Remote(_) | ServerEndpoint::Source(_) => None,
        }
    }

    pub fn remote(&self) -> Option<&RemoteServer> {
        match self.endpoint()? {
            ServerEndpoint::Remote(remote) => Some(remote),
            ServerEndpoint::Process(_) | ServerEndpoint::Source(_) => None,
        }
    }

    pub fn source(&self) -> Option<&SourceDefinition> {
        match self.endpoint()? {
            ServerEndpoint::Source(source) => Some(source),
            ServerEndpoint::Process(_) | ServerEndpoint::Remote(_) => None,
        }
    }

    /// True if any session is open.
    pub fn is_open(&self) -> bool {
        let slots = self.slots.lock();
        let mut all = slots.by_key.values();
        all.any(|slot| slot.open_session().is_some())
    }

    /// The caller's session, if it is open now.
    pub fn open_session(&self, caller: &CallerIdentity) -> Option<HeldSession> {
        let key = self.server_shared.as_ref()?.sharing.key(caller).ok()?;
        let slot = Arc::clone(self.slots.lock().by_key.get(&key)?);
        // Marked before the check: from here on the session will not be handed over.
        slot.mark_used_by(caller);
        let session = slot.open_session()?;
        Some(HeldSession { slot, session })
    }

    /// The caller's session, opened if there is none.
    pub async fn session(&self, caller: &CallerIdentity) -> Result<HeldSession, Fault> {
        for _ in 0..MAX_SLOT_MOVES {
            let slot = self.slot(caller)?;
            // The slot was retired meanwhile, and there may be another.
            let Ok(outcome) = slot.session(caller).await else {
                continue;
            };
            let session = outcome?;
            // The server may have asked for roots meanwhile, and then the session belongs to another workspace.
            if self.serves(&slot, caller) {
                return Ok(HeldSession { slot, session });
            }
        }
        Err(server_retired_fault(&self.name))
    }

    /// True if the slot currently has this caller's key.
    pub fn serves(&self, slot: &Slot, caller: &CallerIdentity) -> bool {
        self.session_key_of(caller)
            .is_ok_and(|key| slot.scope.key() == key)
    }

    /// The key under which its tools are pinned.
    pub fn pin_key(&self) -> Result<PinKey, Fault> {
        Ok(self.require_shared()?.catalog_entry.pinned.clone())
    }

    /// The metrics of the server.
    pub fn meters(&self) -> &Arc<ServerMeters> {
        &self.meters
    }

    /// Counts a tool call that is sent. Lists and reads do not count as calls.
    pub fn count_call(&self) {
        if let Some(shared) = &self.server_shared {
            shared.calls.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that a call's result seemed to contain a secret. Returns true for the first such result of that path.
    pub fn record_secret_result(&self, path: &str) -> bool {
        let shared = self.server_shared.as_ref();
        shared.is_some_and(|shared| shared.secret_results.record(path))
    }

    fn require_shared(&self) -> Result<&Arc<ServerShared>, Fault> {
        self.server_shared.as_ref().ok_or_else(|| {
            let problem = self.definition.as_ref().err().map(ToString::to_string);
            unavailable::broken_definition_fault(&self.name, &problem.unwrap_or_default())
        })
    }

    fn session_key_of(&self, caller: &CallerIdentity) -> Result<SessionKey, Fault> {
        let key = self.require_shared()?.sharing.key(caller);
        key.map_err(|_| unavailable::missing_workspace_fault(&self.name))
    }

    /// The caller's slot, created if there is none.
    fn slot(&self, caller: &CallerIdentity) -> Result<Arc<Slot>, Fault> {
        let server_shared = self.require_shared()?;
        let key = self.session_key_of(caller)?;
        let mut slots = self.slots.lock();
        if slots.retired {
            return Err(server_retired_fault(&self.name));
        }
        if let Some(slot) = slots.by_key.get(&key) {
            return Ok(Arc::clone(slot));
        }
        if slots.by_key.len() >= MAX_SERVER_SLOTS && !slots.make_room() {
            return Err(unavailable::slots_full_fault(
                server_shared,
                MAX_SERVER_SLOTS,
            ));
        }
        let scope = SessionScope::new(self.me.clone(), key.clone(), caller.workspace.clone());
        let client_state = slots.client_states.entry(key.clone()).or_default().clone();
        let slot = Slot::start(server_shared, scope, client_state);
        slots.by_key.insert(key, Arc::clone(&slot));
        Ok(slot)
    }

    /// The known tools, connected or not.
    pub fn tools(&self) -> Option<Arc<ToolSet>> {
        self.server_shared.as_ref()?.tools()
    }

    /// The known tools with a note on the connection.
    pub fn known_tools(&self) -> KnownServer {
        let tools = self.tools();
        let note = match (&tools, self.is_open()) {
            (Some(_), true) => None,
            (Some(_), false) => {
                Some("not connected; these are its tools as of its last session".into())
            }
            (None, _) => {
                // The note appears in declarations, which agents read, so it must not contain the server's output,
                // which concerns others' calls.
                let reason = self.view().info.reason;
                let reason = reason.map(|reason| without_output(&reason).to_owned());
                Some(reason.unwrap_or_else(|| "its tools are not known yet".into()))
            }
        };
        KnownServer {
            name: self.name.clone(),
            tools,
            note,
        }
    }

    /// The reason the server refuses to list its tools, if none are known.
    pub fn listing_error(&self) -> Option<String> {
        let latest = self.server_shared.as_ref()?.latest_session()?;
        let is_unknown = latest.tools().is_empty();
        latest.listing_error().filter(|_| is_unknown)
    }

    /// Restarts all open and failed sessions and the caller's, and resets the circuit breaker.
    pub async fn restart(&self, caller: &CallerIdentity) -> Result<(), Fault> {
        self.require_shared()?.breaker.reset();
        let own = self.slot(caller);
        let is_own = |slot: &Arc<Slot>| own.as_ref().is_ok_and(|own| Arc::ptr_eq(own, slot));
        let mut affected = self.all_slots();
        affected.retain(|slot| slot.is_up() || slot.has_failed() || is_own(slot));
        if affected.is_empty() {
            own?;
        }
        let outcomes = join_all(affected.iter().map(|slot| slot.restart())).await;
        // A slot that was retired meanwhile need not restart.
        let faults = outcomes
            .into_iter()
            .filter_map(|outcome| outcome.ok()?.err());
        faults.take(1).next().map_or(Ok(()), Err)
    }

    /// The list of resources or prompts that the caller's last session had. A client that gets this list is notified if
    /// the session, which is opened in the background, has another list.
    pub async fn remembered_list(
        &self,
        caller: &CallerIdentity,
        kind: ListKind,
    ) -> Option<Arc<Vec<Value>>> {
        let owner = self.session_key_of(caller).ok()?.lasting_owner()?;
        let entry = self.server_shared.as_ref()?.catalog_entry.clone();
        let list = blocking_pool::run(move || entry.recall_offers(kind, &owner)).await?;
        let slot = self.slot(caller).ok()?;
        slot.slot_shared.announce_list(kind, Some(&list));
        let server = self.me.upgrade()?;
        let caller = caller.clone();
        // The server's state shows a failure.
        tokio::spawn(async move { drop(server.session(&caller).await) });
        Some(Arc::new(list))
    }

    /// Records that a list of the server is unavailable.
    pub fn announce_list_unavailable(&self, caller: &CallerIdentity, kind: ListKind) {
        let key = self.session_key_of(caller).ok();
        let slot = key.and_then(|key| self.slots.lock().by_key.get(&key).cloned());
        if let Some(slot) = slot {
            slot.slot_shared.announce_list(kind, None);
        }
    }

    /// Ends a connection's subscription to a resource.
    pub async fn unfollow(&self, uri: &str, connection: u64) {
        let client_states: Vec<SlotClientState> =
            self.slots.lock().client_states.values().cloned().collect();
        let slots = self.all_slots();
        let follows =
            |slot: &&Arc<Slot>| slot.slot_shared.subscribers.has_subscriber(uri, connection);
        join_all(
            slots
                .iter()
                .filter(follows)
                .map(|slot| slot.unfollow_in_slot(uri, connection)),
        )
        .await;
        for client_state in client_states {
            client_state.subscribers.remove_subscriber(uri, connection);
        }
    }

    /// Drops the subscriptions and the own slot of a connection that has ended.
    pub(crate) fn forget(&self, connection: u64) {
        self.retire_key(&SessionKey::Client(connection), "its client has gone");
        let mut slots = self.slots.lock();
        let ServerSlots {
            by_key,
            client_states,
            ..
        } = &mut *slots;
        client_states.retain(|key, client_state| {
            if let Some(slot) = by_key.get(key) {
                slot.forget(connection);
                true
            } else {
                client_state.subscribers.forget(connection);
                client_state.subscribers.has_subscribers()
            }
        });
    }

    /// Releases the slots that a run has used and drops its own slot.
    pub(crate) fn run_ended(&self, run: &str) {
        for slot in self.all_slots() {
            slot.release_run(run);
        }
        self.retire_key(&SessionKey::Run(run.to_owned()), "its run has ended");
    }

    /// Ends a key's slot and its session now.
    fn retire_key(&self, key: &SessionKey, why: &'static str) {
        let mut slots = self.slots.lock();
        slots.client_states.remove(key);
        if let Some(slot) = slots.by_key.remove(key) {
            slot.retire(why, true);
        }
    }

    /// Retires a server that was removed or changed: it takes no new callers, and each session ends with its last call.
    pub(crate) fn retire(&self) {
        for slot in self.take_all_slots() {
            slot.retire("the server was removed or changed", false);
        }
    }

    /// Forgets the sandbox of a removed server, whose name may come to mean another server.
    pub(crate) fn forget_sandbox(&self) {
        if let Some(server_shared) = &self.server_shared {
            server_shared.forget_sandbox();
        }
    }

    /// Ends all sessions now and waits for their end.
    pub(crate) async fn close(&self) {
        let slots = self.take_all_slots();
        join_all(slots.iter().map(|slot| slot.close())).await;
    }

    fn take_all_slots(&self) -> Vec<Arc<Slot>> {
        let mut slots = self.slots.lock();
        slots.retired = true;
        slots.by_key.drain().map(|(_, slot)| slot).collect()
    }

    fn all_slots(&self) -> Vec<Arc<Slot>> {
        self.slots.lock().by_key.values().cloned().collect()
    }
}

impl RootsObserver for Server {
    /// Handles a request for roots, which shows that the server depends on the workspace. If `share` is not configured,
    /// the session moves to the workspace of the caller for whom the server asks.
    fn handle_roots_request(&self, scope: &SessionScope, workspace: Option<PathBuf>) {
        let Some(server_shared) = &self.server_shared else {
            return;
        };
        // While the lock is held, no caller gets a slot by the old rule while the session moves.
        let mut slots = self.slots.lock();
        server_shared.sharing.record_asks_for_roots();
        let Some(workspace) = workspace.filter(|_| server_shared.sharing.is_detected()) else {
            return;
        };
        let key = SessionKey::Workspace(workspace.clone());
        if scope.key() != SessionKey::User || slots.by_key.contains_key(&key) {
            return;
        }
        let is_it = |slot: &Arc<Slot>| std::ptr::eq(Arc::as_ptr(&slot.scope), scope);
        if slots.by_key.get(&SessionKey::User).is_some_and(is_it)
            && let Some(slot) = slots.by_key.remove(&SessionKey::User)
        {
            scope.move_to_workspace(workspace.clone());
            // A slot that has ended has no timer to update.
            _ = slot.send_event(SlotEvent::Moved);
            if let Some(client_state) = slots.client_states.remove(&SessionKey::User) {
                // Subscribers of other workspaces wait for their own sessions.
                for other in client_state
                    .subscribers
                    .split_off_other_workspaces(&workspace)
                {
                    let workspace = other.workspace().map(Path::to_owned);
                    let key = workspace.map_or(SessionKey::User, SessionKey::Workspace);
                    let their_state = slots.client_states.entry(key).or_default();
                    their_state.subscribers.add_moved_subscriber(&other);
                }
                slots.client_states.insert(key.clone(), client_state);
            }
            slots.by_key.insert(key, slot);
        }
    }
}

impl ServerSlots {
    /// Retires the slot that was unused for the longest time. Returns false if all are in use.
    fn make_room(&mut self) -> bool {
        let unused = self.by_key.iter();
        let unused = unused.filter_map(|(key, slot)| Some((slot.unused_since()?, key.clone())));
        let Some((_, key)) = unused.min() else {
            return false;
        };
        self.client_states.remove(&key);
        if let Some(slot) = self.by_key.remove(&key) {
            slot.retire("it was closed to make room for another session", false);
        }
        true
    }
}
