//! A slot for one session of a server: one for each key, and the handle to the task that owns it.
//!
//! Invariant: at most one process of a slot is starting or running at a time. All callers that arrive meanwhile wait
//! for that one.

mod slot_handover;
mod slot_usage;

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use mux_sandbox::QueueKey;
use mux_wire::Fault;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::Instant,
};
use tracing::{Instrument, info_span};

use super::{
    Session,
    call_limiter::{CallLimiter, CallPermit, PermitSlot},
    circuit_breaker::CircuitBreaker,
    link::OpenError,
    request::RequestOptions,
    resource_subscriptions::{ResourceSubscriptions, SubscriptionCommand, server_retired_fault},
    resources_and_prompts::ListKind,
    server_shared::ServerShared,
    server_view::{SlotView, UpstreamState},
    session::CallError,
    session_key::{CallerIdentity, SessionKey},
    session_scope::SessionScope,
    slot_owner::{SlotOwner, SlotPhase},
    slot_shared::{RequestPolicyContext, SlotClientState, SlotShared},
};
use mux_caller::{Caller, Mailbox};
use mux_settings::{ServerDefinition, ServerEndpoint};

/// The slot of a session, and the handle to its task.
#[derive(Debug)]
pub struct Slot {
    family: Arc<ServerShared>,
    pub(super) tenant: Arc<SessionScope>,
    mailbox: mpsc::UnboundedSender<SlotEvent>,
    /// The open session, for readers that need not ask the task.
    open: Arc<ArcSwapOption<Session>>,
    /// Limits its calls.
    places: Arc<CallLimiter>,
    pub(super) beside: Arc<SlotShared>,
    /// Commands to the task that owns the subscriptions.
    wishes: mpsc::UnboundedSender<SubscriptionCommand>,
    seen: Arc<Mutex<SlotStatus>>,
    usage: Arc<SlotUsage>,
}

/// The state that the task publishes.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotStatus {
    pub(super) state: UpstreamState,
    pub(super) reason: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) retry_at: Option<Instant>,
}

/// When the slot was last used, and what uses it.
#[derive(Debug)]
pub(super) struct SlotUsage {
    last: Mutex<Instant>,
    in_flight: AtomicU64,
    /// The live runs that have used it.
    runs: Mutex<HashSet<String>>,
    /// Notified when a call or a run has ended.
    less: Notify,
}

pub(super) type SessionWaiter = oneshot::Sender<Result<Arc<Session>, Fault>>;

pub(super) enum SlotEvent {
    Acquire {
        waiter: SessionWaiter,
        /// The caller's workspace.
        workspace: Option<PathBuf>,
    },
    /// Open the session although no caller waits.
    Wake,
    /// A session of the previous daemon has arrived.
    Handed,
    Opened(Result<Arc<Session>, OpenError>),
    Over(SessionEnd),
    Restart(SessionWaiter),
    /// The slot has moved to another key.
    Moved,
    /// Take no more callers; end the session when its calls are done, or at once.
    Retire {
        why: &'static str,
        now: bool,
        done: Option<oneshot::Sender<()>>,
    },
}

/// How a session ended.
pub(super) struct SessionEnd {
    pub(super) session: Arc<Session>,
    pub(super) reason: String,
    /// Whether the daemon closed it.
    pub(super) asked: bool,
}

/// The slot was retired, and there may be another one.
pub(super) struct SlotGone;

impl Slot {
    pub(super) fn start(
        family: &Arc<ServerShared>,
        tenant: Arc<SessionScope>,
        audience: SlotClientState,
    ) -> Arc<Self> {
        let (mailbox, events) = mpsc::unbounded_channel();
        let (wishes, wished) = mpsc::unbounded_channel();
        let news = Arc::clone(&family.surroundings.news);
        let requests = RequestPolicyContext {
            identity: family.identity.clone(),
            policy: Arc::clone(&family.surroundings.requests),
        };
        let beside = SlotShared::of(news, Arc::clone(&tenant), requests, audience);
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
            usage: Arc::new(SlotUsage {
                last: Mutex::new(Instant::now()),
                in_flight: AtomicU64::new(0),
                runs: Mutex::default(),
                less: Notify::new(),
            }),
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
    pub(super) fn open_session(&self) -> Option<Arc<Session>> {
        self.open.load_full().filter(|session| session.is_open())
    }

    /// The open session, or a new one.
    pub(super) async fn session(
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
    pub(super) fn mark_used_by(&self, whose: &CallerIdentity) {
        self.usage.touch();
        if let Some(run) = &whose.run {
            self.usage.runs().insert(run.clone());
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
    pub(super) async fn unfollow_in_slot(&self, uri: &str, connection: u64) {
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
    pub(super) fn forget(&self, connection: u64) {
        if self
            .wishes
            .send(SubscriptionCommand::Gone(connection))
            .is_err()
        {
            self.beside.subscribers.forget(connection);
        }
    }

    pub(super) fn view(&self) -> SlotView {
        let seen = self.lock_status().clone();
        let mut view = SlotView {
            of: self.tenant.key().to_string(),
            state: seen.state,
            reason: seen.reason,
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
    pub(super) fn is_up(&self) -> bool {
        matches!(
            self.lock_status().state,
            UpstreamState::Ready | UpstreamState::Starting
        )
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(
            self.lock_status().state,
            UpstreamState::Failed | UpstreamState::BackingOff
        )
    }

    /// Since when the slot is unused; `None` if it is in use.
    pub(super) fn unused_since(&self) -> Option<Instant> {
        let followed = self.beside.subscribers.has_subscribers();
        let starting = self.lock_status().state == UpstreamState::Starting;
        self.usage.idle_since().filter(|_| !followed && !starting)
    }

    fn lock_status(&self) -> MutexGuard<'_, SlotStatus> {
        self.seen.lock()
    }

    /// Takes no new callers; the session ends with its last call, or now.
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
        usage.in_flight.fetch_add(1, Ordering::Relaxed);
        Self {
            family: Arc::clone(family),
            usage: Arc::clone(usage),
            seat: PermitSlot::new(place),
        }
    }

    pub(super) fn permit_slot(&self) -> &Arc<PermitSlot> {
        &self.seat
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.family.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.usage.touch();
        self.usage.in_flight.fetch_sub(1, Ordering::Release);
        self.usage.less.notify_waiters();
    }
}
