//! What all requests of one connection share: who is there, and what it started.
//!
//! Invariant: the runs of a connection end with it, unless they are detached or their owner has read
//! how they ended; so do its subscriptions, and the questions that it was asked.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use mux_proto::{Hello, version::FEATURES};
use mux_sandbox::Turn;
use tokio::sync::{Notify, OnceCell, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::watchdog_probe;
use crate::daemon::Daemon;
use mux_caller::{
    CallCause, Caller, ClientNotice, ClientOrigin, Mailbox, RunAccess, activity::ActivityGuard,
};
use mux_catalog::Scope;
use mux_runs::Run;
use mux_settings::projects::WorkspaceContext;
use mux_telemetry::trace::TraceScope;
use mux_upstream::CallerIdentity;

/// Calls of one connection that are on their way at once, outside of runs. More wait.
const MAX_CALLS_PER_CONNECTION: usize = 32;

/// The connection of the daemon that has taken over from this one; those of clients are counted from 1.
pub(super) const SUCCESSOR_CONNECTION: u64 = 0;

/// Number of a process and of a user.
pub(super) type PeerIds = (Option<u32>, Option<u32>);

pub(super) struct ConnectionState {
    daemon: Arc<Daemon>,
    number: u64,
    /// The process and the user at the other end, where the system tells.
    peer: PeerIds,
    /// There was no descriptor left: it is told so, and may look and stop, and nothing else.
    cramped: bool,
    /// Without its features.
    hello: OnceLock<Hello>,
    /// Of those that we know, the ones that the client listed.
    features: OnceLock<Box<[&'static str]>>,
    origin: OnceLock<Arc<ClientOrigin>>,
    arrived: Notify,
    /// From hello on, the daemon counts this client, unless it is the daemon itself.
    present: OnceLock<ActivityGuard>,
    /// Something was asked after the greeting.
    asked: CancellationToken,
    /// Runs that end with this connection, as long as they are kept.
    runs: Mutex<Vec<Weak<Run>>>,
    /// For calls outside of runs.
    calls: Semaphore,
    /// From its first request on.
    mailbox: OnceLock<Arc<Mailbox>>,
    /// Where it works, once its project was looked at.
    arrival: OnceCell<Option<PathBuf>>,
}

impl ConnectionState {
    pub(super) fn new(daemon: Arc<Daemon>, number: u64, peer: PeerIds, cramped: bool) -> Arc<Self> {
        Arc::new(Self {
            peer,
            cramped,
            mailbox: OnceLock::new(),
            arrival: OnceCell::new(),
            daemon,
            number,
            hello: OnceLock::new(),
            features: OnceLock::new(),
            origin: OnceLock::new(),
            arrived: Notify::new(),
            present: OnceLock::new(),
            asked: CancellationToken::new(),
            runs: Mutex::default(),
            calls: Semaphore::new(MAX_CALLS_PER_CONNECTION),
        })
    }

    /// Lets the client in; false if the daemon is ending. A second hello changes nothing.
    pub(super) fn greet(&self, mut hello: Hello) -> bool {
        if !self.is_probe(&hello) {
            let Some(present) = self.daemon.activity.admit_client() else {
                return false;
            };
            drop(self.present.set(present));
        }
        let listed = std::mem::take(&mut hello.features);
        let known = FEATURES.iter().copied();
        let known = known.filter(|known| listed.iter().any(|feature| feature == known));
        drop(self.features.set(known.collect()));
        drop(self.hello.set(hello));
        self.arrived.notify_one();
        true
    }

    pub(super) fn is_cramped(&self) -> bool {
        self.cramped
    }

    /// The client said in its hello that it knows of this.
    pub(super) fn knows(&self, feature: &str) -> bool {
        let features = self.features.get();
        features.is_some_and(|features| features.contains(&feature))
    }

    /// Our own connection, which counts for nothing.
    pub(super) fn is_probe(&self, hello: &Hello) -> bool {
        watchdog_probe::is_probe(hello, self.peer)
    }

    pub(super) fn is_greeted(&self) -> bool {
        self.hello.get().is_some()
    }

    /// Resolves when the client has said hello.
    pub(super) async fn greeted(&self) {
        self.arrived.notified().await;
    }

    /// When another daemon has taken over, a client that listens is told so.
    pub(super) async fn tells_to_leave(&self) -> Infallible {
        self.daemon.leaving.cancelled().await;
        if let Some(mailbox) = self.mailbox.get().filter(|_| self.knows("upgrade")) {
            mailbox.push_notice(ClientNotice::Leaving);
        }
        std::future::pending().await
    }

    /// The daemon for a client that was greeted.
    pub(super) fn open(&self) -> Option<&Arc<Daemon>> {
        self.asked.cancel();
        self.is_greeted().then_some(&self.daemon)
    }

    /// Resolves when the client has asked for something after its hello.
    pub(super) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    /// Connections of the same client program, agent and workspace have one owner: their runs may follow
    /// each other in one worker process, and they take their turns together.
    pub(super) fn turn(&self) -> Turn {
        self.turn_for(&self.origin())
    }

    /// The turn of this connection with a run that somebody else has begun: the worker is one of theirs.
    pub(super) fn turn_for(&self, owner: &ClientOrigin) -> Turn {
        let ClientOrigin {
            client,
            agent,
            workspace,
            ..
        } = owner;
        Turn {
            owner: format!("{client}|{agent:?}|{workspace:?}"),
            client: self.number,
        }
    }

    /// Which runs, approvals and pending calls this connection finds.
    pub(super) fn access(&self) -> RunAccess {
        if self.number == SUCCESSOR_CONNECTION {
            // It asks for its own clients, and finds out which of them may have what.
            return RunAccess::Everyone;
        }
        let for_agent = self.hello.get().is_none_or(|hello| hello.for_agent);
        RunAccess::of(&self.origin(), for_agent)
    }

    /// The project of the directory in which the client works is known from here on.
    pub(super) async fn arrive(&self) {
        let workspace = self.origin().workspace.clone();
        self.arrival
            .get_or_init(|| async move {
                if let Some(workspace) = &workspace {
                    self.daemon.arrived(workspace).await;
                }
                workspace
            })
            .await;
        self.daemon.projects_in_force().await;
    }

    /// What the client's agent sees now.
    pub(super) fn scope(&self) -> Arc<Scope> {
        let agent = self.hello.get().and_then(|hello| hello.agent.as_deref());
        self.daemon.gateway.scope(agent, &self.workplace())
    }

    /// What there is where the client works, whatever its agent sees of it.
    pub(super) fn sight(&self) -> Arc<Scope> {
        self.daemon.gateway.scope(None, &self.workplace())
    }

    pub(super) fn project(&self) -> Option<Arc<Path>> {
        let workspace = self.arrival.get()?.as_deref()?;
        self.daemon.project_of(workspace)
    }

    pub(super) fn workplace(&self) -> WorkspaceContext {
        let workspace = self.arrival.get().and_then(Option::as_deref);
        workspace.map_or_else(WorkspaceContext::default, |workspace| {
            self.daemon.workplace(workspace)
        })
    }

    /// What the user should know of that project.
    pub(super) fn notes(&self) -> Vec<String> {
        self.sight().notes()
    }

    /// Room for one call of this connection.
    pub(super) async fn call(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.calls.acquire().await.ok()
    }

    /// What the client says of itself.
    pub(super) fn origin(&self) -> Arc<ClientOrigin> {
        let origin = self.origin.get_or_init(|| {
            let Some(hello) = self.hello.get() else {
                return Arc::default();
            };
            let (name, agent) = (&hello.client.name, hello.agent.as_deref());
            let (pid, uid) = self.peer;
            Arc::new(ClientOrigin {
                pid,
                uid,
                for_agent: hello.for_agent,
                ..ClientOrigin::new(name, agent, hello.workspace.clone())
            })
        });
        Arc::clone(origin)
    }

    /// Where the client is told and asked.
    pub(super) fn mailbox(&self) -> &Arc<Mailbox> {
        self.mailbox.get_or_init(|| {
            let pool = self.daemon.gateway.upstreams().news();
            Mailbox::new(self.number, self.origin(), pool)
        })
    }

    /// The client, for a call to which it gave this name.
    pub(super) fn caller(&self, token: Option<String>) -> Arc<Caller> {
        Arc::new(Caller {
            mailbox: Some(Arc::clone(self.mailbox())),
            cause: CallCause::Call(token.unwrap_or_default()),
            workspace: self.origin().workspace.clone(),
            origin: self.origin(),
            clock: Arc::default(),
            trace: TraceScope::default(),
        })
    }

    /// For whom something is asked of a server, outside of runs.
    pub(super) fn whose(&self) -> CallerIdentity {
        CallerIdentity::of(&self.caller(None))
    }

    /// The run ends with this connection, unless it is detached.
    pub(super) fn owns(&self, run: &Arc<Run>) {
        if !run.is_detached() {
            let mut runs = self.runs();
            // Those that nobody keeps any more ended long ago.
            runs.retain(|run| run.strong_count() > 0);
            runs.push(Arc::downgrade(run));
        }
    }

    /// If this connection owns the run, it has read how it ended, and need not be waited for.
    pub(super) fn heard(&self, run: &Arc<Run>) {
        self.runs().retain(|own| {
            let ended = std::ptr::eq(own.as_ptr(), Arc::as_ptr(run));
            if ended {
                run.set_end_read();
            }
            !ended
        });
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Weak<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionState {
    fn drop(&mut self) {
        for run in self.runs().drain(..).filter_map(|run| run.upgrade()) {
            run.cancel();
            run.set_end_read();
        }
        if let Some(mailbox) = self.mailbox.get() {
            mailbox.close();
        }
        self.daemon.gateway.upstreams().connection_over(self.number);
        self.daemon
            .gateway
            .approvals()
            .connection_ended(self.number);
        if let Some(Some(workspace)) = self.arrival.get() {
            self.daemon.left(workspace);
        }
    }
}
