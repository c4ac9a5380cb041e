//! A slot for one session of a server: one for each key, and the handle to the task that owns it.
//!
//! Invariant: at most one process of a slot is starting or running at a time. All callers that arrive meanwhile wait
//! for that one.

mod resource_subscriptions;
mod slot_event;
mod slot_handover;
mod slot_owner;
mod slot_status;
mod slot_usage;
mod start_queue;

use std::sync::{Arc, atomic::Ordering};

use arc_swap::ArcSwapOption;
use mux_sandbox::QueueKey;
use mux_wire::Fault;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tracing::{Instrument, info_span};

pub(super) use self::slot_event::SlotEvent;
use self::{
    resource_subscriptions::{ResourceSubscriptions, SubscriptionCommand},
    slot_event::SessionWaiter,
    slot_owner::{SlotOwner, SlotPhase},
    slot_status::SlotStatus,
    slot_usage::SlotUsage,
};
pub use self::{
    slot_handover::OutgoingSession,
    slot_status::{SlotView, UpstreamState},
};
use super::{
    circuit_breaker::CircuitBreaker, server_shared::ServerShared, unavailable::server_retired_fault,
};
use crate::{
    calls::{CallError, CallLimiter, CallPermit, PermitSlot},
    listing::ListKind,
    session::{RequestOptions, Session},
    sharing::{CallerIdentity, SessionKey, SessionScope, SlotClientState, SlotShared},
};
use mux_caller::{Caller, Mailbox};
use mux_settings::{ServerDefinition, ServerEndpoint};

/// The slot of a session, and the handle to its task.
#[derive(Debug)]
pub struct Slot {
    family: Arc<ServerShared>,
    pub(crate) tenant: Arc<SessionScope>,
    mailbox: mpsc::UnboundedSender<SlotEvent>,
    /// The open session, for readers that need not ask the task.
    open: Arc<ArcSwapOption<Session>>,
    /// Limits its calls.
    places: Arc<CallLimiter>,
    pub(crate) beside: Arc<SlotShared>,
    /// Commands to the task that owns the subscriptions.
    wishes: mpsc::UnboundedSender<SubscriptionCommand>,
    seen: Arc<Mutex<SlotStatus>>,
    usage: Arc<SlotUsage>,
}

/// The slot was retired, and there may be another one.
pub(crate) struct SlotGone;

impl Slot {
    pub(crate) fn start(
        family: &Arc<ServerShared>,
        tenant: Arc<SessionScope>,
        audience: SlotClientState,
    ) -> Arc<Self> {
        let (mailbox, events) = mpsc::unbounded_channel();
        let (wishes, wished) = mpsc::unbounded_channel();
        let news = Arc::clone(&family.surroundings.news);
        let beside = SlotShared::of(news, Arc::clone(&tenant), audience);
        let definition = &family.definition;
        let at_once = || CallLimiter::new(definition.calls_at_once);
        let places = family.places.clone().unwrap_or_else(at_once);
        // A server may fail in one workspace and work in another; clients and runs come and go.
        let breaker = match tenant.key() {
            SessionKey::Workspace(_) => Arc::default(),
            SessionKey::User | SessionKey::Client(_) | SessionKey::Run(_) => {
                Arc::clone(&family.breaker)
            }
        };
        let slot = Arc::new(Self {
            family: Arc::clone(family),
            tenant,
            mailbox,
            open: Arc::default(),
            places,
            beside,
            wishes,
            seen: Arc::default(),
            usage: Arc::default(),
        });
        slot.run(breaker, events, wished);
        slot
    }

    fn run(
        &self,
        breaker: Arc<CircuitBreaker>,
        events: mpsc::UnboundedReceiver<SlotEvent>,
        wished: mpsc::UnboundedReceiver<SubscriptionCommand>,
    ) {
        let definition: Arc<ServerDefinition> = match self.tenant.workspace() {
            Some(workspace) => Arc::new(self.family.definition.in_workspace(&workspace)),
            None => Arc::new(self.family.definition.clone()),
        };
        let subscriptions = ResourceSubscriptions {
            beside: Arc::clone(&self.beside),
            within: definition.call_timeout,
            current: None,
        };
        let owner = SlotOwner {
            family: Arc::clone(&self.family),
            probed: matches!(definition.link, ServerEndpoint::Process(_)),
            definition,
            tenant: Arc::clone(&self.tenant),
            mailbox: self.mailbox.clone(),
            open: Arc::clone(&self.open),
            beside: Arc::clone(&self.beside),
            wishes: self.wishes.clone(),
            seen: Arc::clone(&self.seen),
            usage: Arc::clone(&self.usage),
            breaker,
            phase: SlotPhase::Closed,
            wanted: false,
            opening: None,
        };
        let span = info_span!("server", name = self.family.name);
        tokio::spawn(subscriptions.run(wished).instrument(span.clone()));
        tokio::spawn(owner.run(events).instrument(span));
    }

    /// The session, if it is open.
    pub(crate) fn open_session(&self) -> Option<Arc<Session>> {
        self.open.load_full().filter(|session| session.is_open())
    }

    /// The open session, or a new one.
    pub(crate) async fn session(
        &self,
        whose: &CallerIdentity,
    ) -> Result<Result<Arc<Session>, Fault>, SlotGone> {
        self.mark_used_by(whose);
        if let Some(session) = self.open_session() {
            return Ok(Ok(session));
        }
        let workspace = whose.workspace.clone();
        self.request_session(|waiter| SlotEvent::Acquire { waiter, workspace })
            .await
    }

    /// Marks the slot as used; a run keeps it in use until the run has ended.
    pub(crate) fn mark_used_by(&self, whose: &CallerIdentity) {
        self.usage.touch();
        if let Some(run) = &whose.run {
            self.usage.add_run(run);
        }
    }

    /// Closes the session, if there is one, and opens a new one.
    pub(crate) async fn restart(&self) -> Result<Result<Arc<Session>, Fault>, SlotGone> {
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

    pub(crate) fn send_event(&self, event: SlotEvent) -> Result<(), SlotGone> {
        self.mailbox.send(event).map_err(|_| SlotGone)
    }

    /// Waits for a permit to call the server; waiting callers take turns.
    pub async fn acquire_call(&self, turn: &QueueKey) -> CallInFlight {
        let place = self.places.acquire_permit(turn).await;
        CallInFlight::new(&self.family, &self.usage, place)
    }

    /// All items of this kind that the session offers. Clients are notified if they know a different list.
    pub async fn list_and_announce(
        &self,
        session: &Session,
        kind: ListKind,
        sending: &RequestOptions<'_>,
    ) -> Result<Arc<Vec<serde_json::Value>>, CallError> {
        let list = session.list_cached(kind, sending).await;
        self.beside
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
        let wish = SubscriptionCommand::Follow {
            session: Arc::clone(session),
            uri: uri.to_owned(),
            mailbox: Arc::clone(mailbox),
            caller: Arc::clone(caller),
            done,
        };
        let gone = || server_retired_fault(&self.family.name);
        self.wishes.send(wish).map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())
    }

    /// Ends the connection's subscription to the resource.
    pub(crate) async fn unfollow_in_slot(&self, uri: &str, connection: u64) {
        let (done, left) = oneshot::channel();
        let wish = SubscriptionCommand::Leave {
            uri: uri.to_owned(),
            connection,
            done,
        };
        match self.wishes.send(wish) {
            // An error means that the task has ended, and with it every subscription.
            Ok(()) => _ = left.await,
            Err(_) => _ = self.beside.subscribers.remove_subscriber(uri, connection),
        }
    }

    /// Drops the subscriptions of a connection that has ended.
    pub(crate) fn forget(&self, connection: u64) {
        if self
            .wishes
            .send(SubscriptionCommand::Gone(connection))
            .is_err()
        {
            self.beside.subscribers.forget(connection);
        }
    }

    pub(crate) fn view(&self) -> SlotView {
        let seen = self.lock_status().clone();
        let mut view = SlotView {
            of: self.tenant.key().to_string(),
            state: seen.state,
            reason: seen.reason,
            detail: seen.detail,
            pid: seen.pid,
            retry_in: seen
                .retry_at
                .map(|at| at.saturating_duration_since(Instant::now()))
                .filter(|rest| !rest.is_zero()),
        };
        let session = self.open.load_full();
        if let (UpstreamState::Ready, Some(session)) = (view.state, session) {
            let complaint = session
                .health
                .degraded_reason(session.ears.in_flight.stray_progress_count());
            if !session.is_open() {
                // Its process may take a moment to exit.
                (view.state, view.reason) = (UpstreamState::Cold, Some(session.cause()));
            } else if complaint.is_some() {
                (view.state, view.reason) = (UpstreamState::Degraded, complaint);
            }
        }
        view
    }

    /// Whether it has a session or is opening one.
    pub(crate) fn is_up(&self) -> bool {
        matches!(
            self.lock_status().state,
            UpstreamState::Ready | UpstreamState::Starting
        )
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(
            self.lock_status().state,
            UpstreamState::Failed | UpstreamState::BackingOff
        )
    }

    /// Since when the slot is unused; `None` if it is in use.
    pub(crate) fn unused_since(&self) -> Option<Instant> {
        let followed = self.beside.subscribers.has_subscribers();
        let starting = self.lock_status().state == UpstreamState::Starting;
        self.usage.idle_since().filter(|_| !followed && !starting)
    }

    fn lock_status(&self) -> MutexGuard<'_, SlotStatus> {
        self.seen.lock()
    }

    /// Takes no new callers; the session ends with its last call, or now.
    pub(crate) fn retire(&self, why: &'static str, now: bool) {
        let event = SlotEvent::Retire {
            why,
            now,
            done: None,
        };
        // If the task has already ended, there is nothing to retire.
        _ = self.send_event(event);
    }

    /// Ends the session now and waits for its end.
    pub(crate) async fn close(&self) {
        let (done, over) = oneshot::channel();
        let event = SlotEvent::Retire {
            why: "the daemon is ending",
            now: true,
            done: Some(done),
        };
        if self.send_event(event).is_ok() {
            // An error means that the task has ended, which is what was asked for.
            _ = over.await;
        }
    }
}

/// A call in flight, with its permit.
pub struct CallInFlight {
    family: Arc<ServerShared>,
    usage: Arc<SlotUsage>,
    seat: Arc<PermitSlot>,
}

impl CallInFlight {
    fn new(family: &Arc<ServerShared>, usage: &Arc<SlotUsage>, place: CallPermit) -> Self {
        family.calls.fetch_add(1, Ordering::Relaxed);
        family.in_flight.fetch_add(1, Ordering::Relaxed);
        usage.begin_call();
        Self {
            family: Arc::clone(family),
            usage: Arc::clone(usage),
            seat: PermitSlot::new(place),
        }
    }

    /// Its permit, which it may release before it ends.
    pub fn permit_slot(&self) -> &Arc<PermitSlot> {
        &self.seat
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.family.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.usage.end_call();
    }
}
