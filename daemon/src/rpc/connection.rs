//! The state that all requests of one connection share: the client, and what it started.
//!
//! Invariant: the runs of a connection end with it, unless they are detached or the client has read their end. The same
//! holds for its subscriptions, for logins that wait for a browser, and for questions to the client.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, Weak},
};

use parking_lot::{Mutex, MutexGuard};

use mux_proto::{self as wire, Hello};
use mux_sandbox::QueueKey;
use tokio::sync::{Notify, OnceCell, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::watchdog_probe;
use crate::daemon::Daemon;
use mux_audit::AdminEvent;
use mux_auth::LoginAttempt;
use mux_caller::{
    CallCause, Caller, ClientNotice, ClientOrigin, Mailbox, RunAccess, activity::ActivityGuard,
};
use mux_catalog::Scope;
use mux_journal::RunJournal;
use mux_runs::program_check::ToolViewer;
use mux_settings::projects::WorkspaceContext;
use mux_telemetry::trace::TraceScope;
use mux_upstream::{CallerIdentity, Server};

/// The maximum number of concurrent calls of one connection outside runs. Further calls wait.
const MAX_CALLS_PER_CONNECTION: usize = 32;

/// The number of the successor's connection. Clients' connections are counted from 1.
pub(super) const SUCCESSOR_CONNECTION: u64 = 0;

/// The pid and uid of a peer, where the system provides them.
pub(super) type PeerIds = (Option<u32>, Option<u32>);

pub(super) struct ConnectionState {
    daemon: Arc<Daemon>,
    number: u64,
    /// The process and user at the other end.
    peer: PeerIds,
    /// Set if the connection uses a reserved descriptor. The client may ask for the status and stop the daemon, and
    /// every other request fails.
    has_reserved_descriptor: bool,
    hello: OnceLock<Hello>,
    origin: OnceLock<Arc<ClientOrigin>>,
    turn: OnceLock<QueueKey>,
    arrived: Notify,
    /// Counts the client from `hello` on, unless it is the daemon itself.
    present: OnceLock<ActivityGuard>,
    /// Cancelled with the first request after `hello`.
    asked: CancellationToken,
    /// Runs that end with this connection.
    runs: Mutex<Vec<Weak<RunJournal>>>,
    /// Logins that end with this connection, unless they have an outcome.
    logins: Mutex<Vec<Weak<LoginAttempt>>>,
    /// Permits for calls outside runs.
    calls: Semaphore,
    /// The client's mailbox, created when first needed.
    mailbox: OnceLock<Arc<Mailbox>>,
    /// The client's directory, once its project was looked up.
    arrival: OnceCell<Option<PathBuf>>,
}

impl ConnectionState {
    pub(super) fn new(
        daemon: Arc<Daemon>,
        number: u64,
        peer: PeerIds,
        has_reserved_descriptor: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            peer,
            has_reserved_descriptor,
            mailbox: OnceLock::new(),
            arrival: OnceCell::new(),
            daemon,
            number,
            hello: OnceLock::new(),
            origin: OnceLock::new(),
            turn: OnceLock::new(),
            arrived: Notify::new(),
            present: OnceLock::new(),
            asked: CancellationToken::new(),
            runs: Mutex::default(),
            logins: Mutex::default(),
            calls: Semaphore::new(MAX_CALLS_PER_CONNECTION),
        })
    }

    /// Accepts the client's hello. Returns false if the daemon is ending. A second hello changes nothing.
    pub(super) fn accept_hello(&self, hello: Hello) -> bool {
        if !self.is_probe(&hello) {
            let Some(present) = self.daemon.activity.admit_client() else {
                return false;
            };
            drop(self.present.set(present));
        }
        if let Ok(()) = self.hello.set(hello)
            && let Some(hello) = self.hello.get()
        {
            self.daemon.agents.add(self.number, self.peer.0, hello);
        }
        self.arrived.notify_one();
        true
    }

    pub(super) fn uses_reserved_descriptor(&self) -> bool {
        self.has_reserved_descriptor
    }

    /// True for the watchdog probe's connection, which is not counted as a client.
    pub(super) fn is_probe(&self, hello: &Hello) -> bool {
        watchdog_probe::is_probe(hello, self.peer)
    }

    pub(super) fn is_greeted(&self) -> bool {
        self.hello.get().is_some()
    }

    /// Resolves when the client has said hello.
    pub(super) async fn wait_for_hello(&self) {
        self.arrived.notified().await;
    }

    /// Sends a client that reads notices the notice to reconnect, once a successor serves. Never returns.
    pub(super) async fn notify_when_leaving(&self) -> Infallible {
        self.daemon.leaving.cancelled().await;
        if let Some(mailbox) = self.mailbox.get() {
            mailbox.push_notice(ClientNotice::Leaving {});
        }
        std::future::pending().await
    }

    /// The daemon, if the client has said hello.
    pub(super) fn open(&self) -> Option<&Arc<Daemon>> {
        self.asked.cancel();
        self.is_greeted().then_some(&self.daemon)
    }

    /// Resolves when the client has sent a request after its hello.
    pub(super) async fn wait_for_request(&self) {
        self.asked.cancelled().await;
    }

    /// The queue key of this connection. Connections of the same client program, agent and workspace count as one
    /// owner: their runs may use the same worker process in sequence, and they share one turn in the queue.
    pub(super) fn turn(&self) -> QueueKey {
        let turn = self.turn.get_or_init(|| self.turn_for(&self.origin()));
        turn.clone()
    }

    /// The queue key of this connection for a run of another owner, on that owner's worker.
    pub(super) fn turn_for(&self, owner: &ClientOrigin) -> QueueKey {
        let ClientOrigin {
            client,
            agent,
            workspace,
            ..
        } = owner;
        QueueKey {
            owner: format!("{client}|{agent:?}|{workspace:?}").into(),
            client: self.number,
        }
    }

    /// The runs, approvals and pending calls that this connection may access.
    pub(super) fn access(&self) -> RunAccess {
        if self.number == SUCCESSOR_CONNECTION {
            // The successor checks the access of its own clients.
            return RunAccess::Everyone;
        }
        let for_agent = self.hello.get().is_none_or(|hello| hello.for_agent);
        RunAccess::of(&self.origin(), for_agent)
    }

    /// Looks up the project of the client's directory, unless that was done before.
    pub(super) async fn load_project(&self) {
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

    /// The name of the agent's settings.
    pub(super) fn agent(&self) -> Option<&str> {
        self.hello.get()?.agent.as_deref()
    }

    /// The servers and tools that the client's agent may use now.
    pub(super) fn scope(&self) -> Arc<Scope> {
        self.daemon.gateway.scope(self.agent(), &self.workplace())
    }

    /// The tools that the client sees.
    pub(super) fn viewer(&self) -> ToolViewer {
        let scope = self.scope();
        ToolViewer {
            reader: self.daemon.gateway.reader(&self.origin(), &scope),
            identity: self.identity(),
            scope,
        }
    }

    /// All servers and tools of the client's directory, regardless of what its agent may use.
    pub(super) fn sight(&self) -> Arc<Scope> {
        self.daemon.gateway.scope(None, &self.workplace())
    }

    /// The server of this name, if it is the user's own or one of the client's project.
    pub(super) fn find_server(&self, name: &str) -> wire::Result<Arc<Server>> {
        let upstreams = self.daemon.gateway.upstreams();
        Ok(upstreams.find_visible(name, &self.sight())?)
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

    /// Remarks for the user about the client's project.
    pub(super) fn notes(&self) -> Vec<String> {
        let workspace = self.arrival.get().and_then(Option::as_deref);
        let ignored = workspace.map(|workspace| self.daemon.ignored_project_files(workspace));
        let mut notes = self.sight().notes();
        notes.extend(ignored.unwrap_or_default());
        notes
    }

    /// Waits for a permit for one call of this connection.
    pub(super) async fn call(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.calls.acquire().await.ok()
    }

    /// The client's identity, as its hello gives it.
    pub(super) fn origin(&self) -> Arc<ClientOrigin> {
        let origin = self.origin.get_or_init(|| {
            let Some(hello) = self.hello.get() else {
                return Arc::default();
            };
            let name = &hello.client.name;
            let agent = hello.agent.as_deref();
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

    /// The mailbox for the client's notices and questions.
    pub(super) fn mailbox(&self) -> &Arc<Mailbox> {
        self.mailbox.get_or_init(|| {
            let pool = self.daemon.gateway.upstreams().news();
            Mailbox::new(self.number, self.origin(), pool)
        })
    }

    /// The caller of a call with this token.
    pub(super) fn caller(&self, token: Option<String>) -> Arc<Caller> {
        Arc::new(Caller {
            mailbox: Some(Arc::clone(self.mailbox())),
            cause: CallCause::Call(token.unwrap_or_default()),
            workspace: self.origin().workspace.clone(),
            origin: self.origin(),
            clock: Arc::default(),
            tool: None,
            trace: TraceScope::default(),
            meta: None,
        })
    }

    /// The identity under which servers are called outside runs.
    pub(super) fn identity(&self) -> CallerIdentity {
        CallerIdentity::of(&self.caller(None))
    }

    /// Records what the client has done in the audit log.
    pub(super) fn audit(&self, event: AdminEvent, subject: &str) {
        let audit = self.daemon.gateway.audit();
        audit.record_admin_event(event, subject, &self.origin());
    }

    /// Makes the run end with this connection, unless it is detached.
    pub(super) fn adopt_run(&self, run: &Arc<RunJournal>) {
        if !run.is_detached() {
            let mut runs = self.runs();
            // Runs that were dropped ended long ago.
            runs.retain(|run| run.strong_count() > 0);
            runs.push(Arc::downgrade(run));
        }
    }

    /// Makes the login end with this connection, if it still waits for its browser then. Its port is freed immediately.
    pub(super) fn owns_login(&self, login: &Arc<LoginAttempt>) {
        let mut logins = self.logins.lock();
        // Attempts that were dropped ended long ago.
        logins.retain(|login| login.strong_count() > 0);
        logins.push(Arc::downgrade(login));
    }

    /// Notes that the client has read the end of a run that it owns, for which shutdown then need not wait.
    pub(super) fn mark_end_read(&self, run: &Arc<RunJournal>) {
        self.runs().retain(|own| {
            let ended = std::ptr::eq(own.as_ptr(), Arc::as_ptr(run));
            if ended {
                run.set_end_read();
            }
            !ended
        });
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Weak<RunJournal>>> {
        self.runs.lock()
    }
}

impl Drop for ConnectionState {
    fn drop(&mut self) {
        self.daemon.agents.remove(self.number);
        for run in self.runs().drain(..).filter_map(|run| run.upgrade()) {
            run.cancel();
            run.set_end_read();
        }
        for login in self.logins.lock().drain(..) {
            if let Some(login) = login.upgrade() {
                login.abandon();
            }
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
