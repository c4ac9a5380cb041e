//! The connection to the daemon, opened on demand and reopened after the daemon was restarted.
//!
//! Invariant: a request is sent once. Only a request that a daemon refused because it is shutting down is sent to the
//! next one.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use mux_client::{ClientIdentity, ConnectError, Session, ValuePages, rpc_error, within_seconds};
use mux_proto::{
    AskKind, CallRequest, Error, Held, JsonText, Kind, MuxClient, NoticesRequest, endpoint::Dirs,
    version,
};
use tarpc::{client::RpcError, context::Context};
use tokio::{
    sync::{OnceCell, mpsc, oneshot, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::McpOptions;
use crate::exit;

/// How many daemons in a row may refuse a request because they are shutting down.
const MAX_SHUTDOWN_REFUSALS: usize = 3;
/// The timeout of a call. The daemon limits each call itself, and pauses that limit while a server waits for the user.
/// This timeout is for a daemon that hangs.
const HUNG_CALL_TIMEOUT: Duration = Duration::from_hours(1);
const NOTICE_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// An open connection to the daemon, closed when its last holder drops it.
pub(super) struct DaemonConnection {
    /// A number that is unique among the connections of this process.
    pub(super) number: u64,
    pub(super) session: Session,
    /// Cancelled when the connection broke or was replaced.
    over: CancellationToken,
    /// Sends waiters that are woken when all notices so far were received.
    waiting: mpsc::UnboundedSender<oneshot::Sender<()>>,
    /// The receiver of `waiting`, for the follower.
    pub(super) waiters: Mutex<Option<NoticeWaiters>>,
    /// The number of the last notice that was handled.
    handled: AtomicU64,
}

pub(super) type NoticeWaiters = mpsc::UnboundedReceiver<oneshot::Sender<()>>;

impl DaemonConnection {
    fn new(session: Session, over: CancellationToken) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (waiting, waiters) = mpsc::unbounded_channel();
        Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            session,
            over,
            waiting,
            waiters: Mutex::new(Some(waiters)),
            handled: AtomicU64::new(0),
        })
    }

    /// Called by the follower after each notice.
    pub(super) fn set_handled(&self, notice: u64) {
        self.handled.store(notice, Ordering::Release);
    }

    /// Resolves when the notices up to this one have been handled: a response may overtake notices.
    async fn wait_for_notices(&self, last_notice: u64) {
        if last_notice <= self.handled.load(Ordering::Acquire) {
            return;
        }
        let (sender, all) = oneshot::channel();
        if self.waiting.send(sender).is_ok() {
            // Without a follower, or after a timeout, late notices are acceptable.
            _ = timeout(NOTICE_FLUSH_TIMEOUT, all).await;
        }
    }

    pub(super) fn is_connection_closed(&self) -> bool {
        self.over.is_cancelled()
    }

    /// The complete value, even if it is stored because it is too long for a message.
    pub(super) async fn full_value(&self, held: Held) -> Result<JsonText, Error> {
        let handle = match held {
            Held::Value(value) => return Ok(value),
            Held::Stored(handle) => handle.handle,
        };
        let pages = ValuePages::new(&self.session, &handle, 0, None);
        JsonText::new(Box::pin(pages.read_to_end_of_value()).await?)
            .map_err(|error| Error::new(Kind::Internal, format!("`{handle}` is not JSON: {error}")))
    }
}

/// Opens connections to the daemon. Cheap to clone.
#[derive(Clone)]
pub(super) struct DaemonLink(Arc<DaemonLinkInner>);

struct DaemonLinkInner {
    dirs: Dirs,
    program: Option<PathBuf>,
    /// The connection for the next request.
    slot: Mutex<Arc<ConnectionSlot>>,
    /// Sends each new connection to the follower.
    connections: mpsc::UnboundedSender<Arc<DaemonConnection>>,
    listener: Mutex<Option<ConnectionReceiver>>,
    approves: AtomicBool,
    /// The number of connections opened so far.
    opened: watch::Sender<u64>,
}

pub(super) type ConnectionReceiver = mpsc::UnboundedReceiver<Arc<DaemonConnection>>;

/// A connection that may not be open yet.
struct ConnectionSlot {
    me: ClientIdentity,
    connection: OnceCell<Arc<DaemonConnection>>,
    over: CancellationToken,
}

impl ConnectionSlot {
    fn new(me: ClientIdentity) -> Arc<Self> {
        Arc::new(Self {
            me,
            connection: OnceCell::new(),
            over: CancellationToken::new(),
        })
    }

    fn holds(&self, connection: &Arc<DaemonConnection>) -> bool {
        self.connection
            .get()
            .is_some_and(|own| Arc::ptr_eq(own, connection))
    }
}

impl DaemonLink {
    pub(super) fn new(dirs: Dirs, program: Option<PathBuf>, options: &McpOptions) -> Self {
        let me = ClientIdentity {
            agent: options.agent.clone(),
            workspace: options.workspace.clone().or_else(|| options.cwd.clone()),
            for_agent: true,
            profile: options.profile.map(|profile| profile.name.clone()),
            ..ClientIdentity::new("mux mcp", version::BUILD)
        };
        let (connections, listener) = mpsc::unbounded_channel();
        Self(Arc::new(DaemonLinkInner {
            dirs,
            program,
            slot: Mutex::new(ConnectionSlot::new(me)),
            connections,
            listener: Mutex::new(Some(listener)),
            approves: AtomicBool::new(false),
            opened: watch::Sender::new(0),
        }))
    }

    /// An open connection. Starts a daemon if none is running.
    pub(super) async fn open(&self) -> Result<Arc<DaemonConnection>, Error> {
        let slot = self.slot();
        if let Some(connection) = slot.connection.get() {
            return Ok(Arc::clone(connection));
        }
        let DaemonLinkInner { dirs, program, .. } = &*self.0;
        let opening = || async {
            let session = mux_client::connect_or_spawn(dirs, program.clone(), &slot.me).await?;
            Ok(self.prepare_connection(&slot, session).await)
        };
        let connection = Box::pin(slot.connection.get_or_try_init(opening)).await;
        connection.cloned().map_err(connect_error_for_agent)
    }

    /// Opens a connection if a daemon is running.
    pub(super) async fn reopen(&self) -> bool {
        let slot = self.slot();
        let opening = || async {
            let session = mux_client::connect(&self.0.dirs, &slot.me).await?;
            Ok::<_, ConnectError>(self.prepare_connection(&slot, session).await)
        };
        slot.connection.get_or_try_init(opening).await.is_ok()
    }

    /// Sends a request to the daemon. If the daemon refuses because it is shutting down, the request had no effect and
    /// goes to the next daemon.
    pub(super) async fn send_with_retry<T, F>(
        &self,
        mut question: impl FnMut(Arc<DaemonConnection>) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        for _ in 0..MAX_SHUTDOWN_REFUSALS {
            let connection = self.open().await?;
            // tarpc's futures have several KiB, and those around them are moved before they are polled.
            match Box::pin(question(Arc::clone(&connection))).await {
                Err(error) if error.is_ending() => self.mark_broken(&connection),
                answer => return answer,
            }
        }
        Err(exit::unavailable_error("muxd is shutting down".into()).hint("try again"))
    }

    /// Sends one request. Returns the response and its connection.
    pub(super) async fn request_with_connection<R: Clone, T>(
        &self,
        timeout_seconds: u64,
        request: R,
        method: impl AsyncFn(&MuxClient, Context, R) -> Result<Result<T, Error>, RpcError>,
    ) -> Result<(Arc<DaemonConnection>, T), Error> {
        let asked = self.send_with_retry(|connection| {
            let request = request.clone();
            let method = &method;
            async move {
                let client = &connection.session.client;
                let answer = method(client, within_seconds(timeout_seconds), request).await;
                if answer.as_ref().is_err_and(breaks_connection) {
                    self.mark_broken(&connection);
                }
                Ok((connection, answer.map_err(rpc_error)??))
            }
        });
        asked.await
    }

    /// Calls a tool. Returns the result, and its connection, once the notices before the result have been handled.
    pub(super) async fn call(
        &self,
        request: CallRequest,
    ) -> Result<(Arc<DaemonConnection>, Held), Error> {
        let timeout_seconds = HUNG_CALL_TIMEOUT.as_secs();
        let called = self.request_with_connection(timeout_seconds, request, MuxClient::call);
        let (connection, answer) = called.await?;
        connection.wait_for_notices(answer.last_notice).await;
        Ok((connection, answer.result))
    }

    /// Sends one request. Returns the response.
    pub(super) async fn request<R: Clone, T>(
        &self,
        timeout_seconds: u64,
        request: R,
        method: impl AsyncFn(&MuxClient, Context, R) -> Result<Result<T, Error>, RpcError>,
    ) -> Result<T, Error> {
        let answer = self.request_with_connection(timeout_seconds, request, method);
        Ok(answer.await?.1)
    }

    /// Marks a connection as broken: the next request opens another one.
    pub(super) fn mark_broken(&self, connection: &Arc<DaemonConnection>) {
        connection.over.cancel();
        self.replace(|current| current.holds(connection).then(|| current.me.clone()));
    }

    /// Changes the client's identity for future requests. Requests in flight are not affected.
    pub(super) fn update_identity(&self, change: impl FnOnce(&mut ClientIdentity)) {
        self.replace(|current| {
            let mut me = current.me.clone();
            change(&mut me);
            (me.name != current.me.name
                || me.version != current.me.version
                || me.workspace != current.me.workspace
                || me.profile != current.me.profile)
                .then_some(me)
        });
    }

    /// A receiver of each connection that is opened, or `None` after the first call.
    pub(super) fn take_connections(&self) -> Option<ConnectionReceiver> {
        self.0.listener.lock().take()
    }

    /// A receiver of the number of connections opened.
    pub(super) fn watch_opened(&self) -> watch::Receiver<u64> {
        self.0.opened.subscribe()
    }

    fn replace(&self, next: impl FnOnce(&Arc<ConnectionSlot>) -> Option<ClientIdentity>) {
        let mut slot = self.0.slot.lock();
        if let Some(me) = next(&slot) {
            slot.over.cancel();
            *slot = ConnectionSlot::new(me);
        }
    }

    fn slot(&self) -> Arc<ConnectionSlot> {
        let slot = self.0.slot.lock();
        Arc::clone(&slot)
    }

    /// Records that the agent can ask its user for approvals.
    pub(super) fn enable_approvals(&self) {
        self.0.approves.store(true, Ordering::Relaxed);
    }

    /// The request that polls for notices after number `after`. The request claims to answer all kinds of questions.
    /// Questions that the agent cannot answer are refused individually.
    pub(super) fn notices_request(&self, after: u64, wait_ms: u64) -> NoticesRequest {
        let mut answers = vec![AskKind::Elicitation, AskKind::Sampling, AskKind::Roots];
        if self.0.approves.load(Ordering::Relaxed) {
            answers.push(AskKind::Approval);
        }
        NoticesRequest {
            after,
            wait_ms,
            answers,
        }
    }

    async fn prepare_connection(
        &self,
        slot: &ConnectionSlot,
        session: Session,
    ) -> Arc<DaemonConnection> {
        // Before any other request, because the daemon must be able to deliver servers' questions to us.
        let listening = self.notices_request(0, 0);
        drop(session.client.notices(within_seconds(5), listening).await);
        let connection = DaemonConnection::new(session, slot.over.clone());
        self.0.opened.send_modify(|count| *count += 1);
        // The follower ends only when the process is about to end.
        drop(self.0.connections.send(Arc::clone(&connection)));
        connection
    }
}

/// Returns true if the error means that the connection is broken.
pub(super) fn breaks_connection(error: &RpcError) -> bool {
    !matches!(error, RpcError::DeadlineExceeded | RpcError::Server(_))
}

fn connect_error_for_agent(error: ConnectError) -> Error {
    match error {
        ConnectError::Refused(error) => error,
        error => exit::unavailable_error(error.to_string())
            .hint("for the user, in a terminal: `mux doctor`"),
    }
}
