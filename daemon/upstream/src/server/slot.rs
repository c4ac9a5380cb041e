//! The slot for one session of a server, with the handle to the task that owns it. A server has one slot for each key.
//!
//! Invariant: at most one process of a slot is starting or running at a time. All callers that arrive meanwhile wait
//! for that process.

mod resource_subscriptions;
mod slot_event;
mod slot_handover;
mod slot_owner;
mod slot_status;
mod slot_usage;
mod start_queue;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use mux_messages::ServerState;
use mux_sandbox::QueueKey;
use mux_wire::Fault;
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span};

pub(super) use self::slot_event::SlotEvent;
use self::{
    resource_subscriptions::{ResourceSubscriptions, SubscriptionCommand},
    slot_event::SessionWaiter,
    slot_owner::{SlotOwner, SlotPhase},
    slot_status::SlotStatus,
    slot_usage::SlotUsage,
};
pub use self::{slot_handover::OutgoingSession, slot_status::SlotView};
use super::{
    circuit_breaker::CircuitBreaker, server_shared::ServerShared, unavailable::server_retired_fault,
};
use crate::{
    calls::{CallError, CallLimiter, CallPermit, PermitSlot},
    listing::ListKind,
    session::Session,
    sharing::{CallerIdentity, SessionKey, SessionScope, SlotClientState, SlotShared},
};
use mux_caller::{Caller, Mailbox};
use mux_settings::{ServerDefinition, ServerEndpoint};

/// The slot of a session, and the handle to its task.
#[derive(Debug)]
pub struct Slot {
    server_shared: Arc<ServerShared>,
    pub(crate) scope: Arc<SessionScope>,
    event_sender: mpsc::UnboundedSender<SlotEvent>,
    /// The open session, for readers that need not ask the task.
    open: ArcSwapOption<Session>,
    /// Limits its calls.
    call_limiter: Arc<CallLimiter>,
    #[expect(
        clippy::struct_field_names,
        reason = "the server has a shared part, too"
    )]
    pub(crate) slot_shared: Arc<SlotShared>,
    /// Commands to the task that owns the subscriptions.
    subscription_commands: mpsc::UnboundedSender<SubscriptionCommand>,
    status: Mutex<SlotStatus>,
    usage: SlotUsage,
}

/// The slot was retired, and there may be a new slot.
pub(crate) struct SlotGone;

impl Slot {
    pub(crate) fn start(
        server_shared: &Arc<ServerShared>,
        scope: Arc<SessionScope>,
        client_state: SlotClientState,
    ) -> Arc<Self> {
        let (event_sender, events) = mpsc::unbounded_channel();
        let (subscription_commands, commands) = mpsc::unbounded_channel();
        let list_changes = Arc::clone(&server_shared.context.list_changes);
        let slot_shared = SlotShared::of(list_changes, Arc::clone(&scope), client_state);
        let definition = &server_shared.definition;
        let at_once = || CallLimiter::new(definition.calls_at_once);
        let call_limiter = server_shared.call_limiter.clone().unwrap_or_else(at_once);
        // A server may fail in one workspace and work in another. Clients and runs come and go.
        let breaker = match scope.key() {
            SessionKey::Workspace(_) => Arc::default(),
            SessionKey::User | SessionKey::Client(_) | SessionKey::Run(_) => {
                Arc::clone(&server_shared.breaker)
            }
        };
        let slot = Arc::new(Self {
            server_shared: Arc::clone(server_shared),
            scope,
            event_sender,
            open: ArcSwapOption::empty(),
            call_limiter,
            slot_shared,
            subscription_commands,
            status: Mutex::default(),
            usage: SlotUsage::default(),
        });
        slot.run(breaker, events, commands);
        slot
    }

    fn run(
        self: &Arc<Self>,
        breaker: Arc<CircuitBreaker>,
        events: mpsc::UnboundedReceiver<SlotEvent>,
        commands: mpsc::UnboundedReceiver<SubscriptionCommand>,
    ) {
        let definition: Arc<ServerDefinition> = match self.scope.workspace() {
            Some(workspace) => Arc::new(self.server_shared.definition.in_workspace(&workspace)),
            None => Arc::new(self.server_shared.definition.clone()),
        };
        let subscriptions = ResourceSubscriptions {
            slot_shared: Arc::clone(&self.slot_shared),
            within: definition.call_timeout,
            current: None,
        };
        let owner = SlotOwner {
            slot: Arc::clone(self),
            pinged: matches!(definition.endpoint, ServerEndpoint::Process(_)),
            definition,
            breaker,
            phase: SlotPhase::Closed,
            keep_open: false,
            background_reason: None,
            wanted: CancellationToken::new(),
            start_task: None,
        };
        let span = info_span!("server", name = self.server_shared.name);
        tokio::spawn(subscriptions.run(commands).instrument(span.clone()));
        tokio::spawn(owner.run(events).instrument(span));
    }

    /// The session, if it is open.
    pub(super) fn open_session(&self) -> Option<Arc<Session>> {
        self.open.load_full().filter(|session| session.is_open())
    }

    /// The open session, or a new one.
    pub(super) async fn session(
        &self,
        caller: &CallerIdentity,
    ) -> Result<Result<Arc<Session>, Fault>, SlotGone> {
        self.mark_used_by(caller);
        if let Some(session) = self.open_session() {
            return Ok(Ok(session));
        }
        let workspace = caller.workspace.clone();
        self.request_session(|waiter| SlotEvent::Acquire { waiter, workspace })
            .await
    }

    /// Marks the slot as used. A run keeps the slot in use until the run has ended.
    pub(super) fn mark_used_by(&self, caller: &CallerIdentity) {
        self.usage.touch();
        if let Some(run) = &caller.run {
            self.usage.add_run(run);
        }
    }

    /// Closes the session, if there is one, and opens a new one.
    pub(super) async fn restart(&self) -> Result<Result<Arc<Session>, Fault>, SlotGone> {
        self.request_session(SlotEvent::Restart).await
    }

    async fn request_session(
        &self,
        event: impl FnOnce(SessionWaiter) -> SlotEvent,
    ) -> Result<Result<Arc<Session>, Fault>, SlotGone> {
        let (reply, answer) = oneshot::channel();
        self.send_event(event(reply))?;
        answer.await.map_err(|_| SlotGone)
    }

    pub(super) fn send_event(&self, event: SlotEvent) -> Result<(), SlotGone> {
        self.event_sender.send(event).map_err(|_| SlotGone)
    }

    /// Waits for a permit to call the server. Waiting callers take turns.
    pub async fn acquire_call(self: &Arc<Self>, turn: &QueueKey) -> CallInFlight {
        let permit = self.call_limiter.acquire_permit(turn).await;
        CallInFlight::new(self, permit)
    }

    /// All items of this kind that the session offers. Clients are notified if they know a different list.
    pub async fn list_and_announce(
        &self,
        session: &Session,
        kind: ListKind,
        within: Duration,
    ) -> Result<Arc<Vec<serde_json::Value>>, CallError> {
        let list = session.list_cached(kind, within).await;
        self.slot_shared
            .announce_list(kind, list.as_ref().ok().map(|list| &list[..]));
        list
    }

    /// Subscribes the connection to updates of the resource.
    pub async fn follow(
        &self,
        session: &Arc<Session>,
        uri: &str,
        mailbox: &Arc<Mailbox>,
        caller: &Arc<Caller>,
    ) -> Result<Result<(), CallError>, Fault> {
        let (done, outcome) = oneshot::channel();
        let command = SubscriptionCommand::Follow {
            session: Arc::clone(session),
            uri: uri.to_owned(),
            mailbox: Arc::clone(mailbox),
            caller: Arc::clone(caller),
            done,
        };
        let retired = || server_retired_fault(&self.server_shared.name);
        self.subscription_commands
            .send(command)
            .map_err(|_| retired())?;
        outcome.await.map_err(|_| retired())
    }

    /// Ends the connection's subscription to the resource.
    pub(super) async fn unfollow_in_slot(&self, uri: &str, connection: u64) {
        let (done, left) = oneshot::channel();
        let command = SubscriptionCommand::Leave {
            uri: uri.to_owned(),
            connection,
            done,
        };
        match self.subscription_commands.send(command) {
            // An error means that the task has ended, and with it every subscription.
            Ok(()) => _ = left.await,
            Err(_) => {
                _ = self
                    .slot_shared
                    .subscribers
                    .remove_subscriber(uri, connection);
            }
        }
    }

    /// Drops the subscriptions of a connection that has ended.
    pub(crate) fn forget(&self, connection: u64) {
        if self
            .subscription_commands
            .send(SubscriptionCommand::Gone(connection))
            .is_err()
        {
            self.slot_shared.subscribers.forget(connection);
        }
    }

    pub(super) fn view(&self) -> SlotView {
        // Read before the status, because a session that ends is removed after its status is set.
        let session = self.open.load_full();
        let status = self.status.lock().clone();
        let mut view = SlotView {
            of: self.scope.key().to_string(),
            state: status.state,
            reason: status.reason,
            quotes_calls: status.quotes_calls,
            detail: status.detail,
            cause: status.cause,
            pid: status.pid,
            retry_in: status
                .retry_at
                .map(|at| at.saturating_duration_since(Instant::now()))
                .filter(|rest| !rest.is_zero()),
            starting_for: status.started_at.map(|began| began.elapsed()),
        };
        if let (ServerState::Ready, Some(session)) = (view.state, session) {
            let degraded_reason = session.degraded_reason();
            if !session.is_open() {
                // The process may take a moment to exit.
                (view.state, view.reason) = (ServerState::Cold, Some(session.cause()));
            } else if degraded_reason.is_some() {
                (view.state, view.reason) = (ServerState::Degraded, degraded_reason);
            }
        }
        view
    }

    /// True if the slot has a session or is opening one.
    pub(super) fn is_up(&self) -> bool {
        matches!(
            self.status.lock().state,
            ServerState::Ready | ServerState::Starting
        )
    }

    fn is_starting(&self) -> bool {
        self.status.lock().state == ServerState::Starting
    }

    /// Replaces the session with a session that starts from now on. A restart alone would join a start that has begun.
    pub(super) async fn replace_session(&self) {
        let had_begun = self.is_starting();
        let restarted = self.restart().await;
        // A failed start reports itself.
        if had_begun && matches!(restarted, Ok(Ok(_))) {
            drop(self.restart().await);
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(
            self.status.lock().state,
            ServerState::Failed | ServerState::BackingOff
        )
    }

    /// The time since which the slot is unused. `None` if the slot is in use.
    pub(super) fn unused_since(&self) -> Option<Instant> {
        let followed = self.slot_shared.subscribers.has_subscribers();
        let starting = self.is_starting();
        self.usage.idle_since().filter(|_| !followed && !starting)
    }

    /// Takes no new callers. The session ends with its last call, or now.
    pub(super) fn retire(&self, why: &'static str, now: bool) {
        let event = SlotEvent::Retire {
            why,
            now,
            done: None,
        };
        // If the task has already ended, there is nothing to retire.
        _ = self.send_event(event);
    }

    /// Ends the session now and waits for its end.
    pub(super) async fn close(&self) {
        let (done, ended) = oneshot::channel();
        let event = SlotEvent::Retire {
            why: "the daemon is ending",
            now: true,
            done: Some(done),
        };
        if self.send_event(event).is_ok() {
            // An error means that the task has ended, as requested.
            _ = ended.await;
        }
    }
}

/// A call in flight, with its permit.
pub struct CallInFlight {
    slot: Arc<Slot>,
    permit: Arc<PermitSlot>,
}

impl CallInFlight {
    fn new(slot: &Arc<Slot>, permit: CallPermit) -> Self {
        let server_shared = &slot.server_shared;
        server_shared.in_flight.fetch_add(1, Ordering::Relaxed);
        server_shared.catalog_entry.record_call();
        slot.usage.begin_call();
        Self {
            slot: Arc::clone(slot),
            permit: PermitSlot::new(permit),
        }
    }

    /// The call's permit, which it may release before it ends.
    pub fn permit_slot(&self) -> &Arc<PermitSlot> {
        &self.permit
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        let server_shared = &self.slot.server_shared;
        server_shared.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.slot.usage.end_call();
    }
}
