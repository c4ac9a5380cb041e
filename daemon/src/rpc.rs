//! Serves connections on the local socket, each with a `hello` first and its own limits.
//!
//! Invariant: nothing below this module names `mux-proto`. Types that clients and daemon share are in `mux-messages`.

mod answer_budget;
mod approvals;
mod catalog;
mod catch_panics;
mod connected_agents;
mod connection;
mod convert;
mod descriptor_reserve;
mod discovery;
mod login;
mod long_value;
mod metrics;
mod notices;
#[cfg(unix)]
mod peer_pid;
mod pins;
mod policy;
mod program_steps;
mod progress_observer;
mod projects;
mod request_frames;
mod request_handler;
mod request_meta;
mod resources_and_prompts;
mod run_journal;
mod runs;
mod sandboxes;
mod secrets;
mod settings;
mod sources;
mod status;
mod tool_call;
mod upgrade;
mod watchdog_probe;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, StreamExt};
use interprocess::local_socket::{
    tokio::{Listener, Stream},
    traits::{StreamCommon as _, tokio::Listener as _},
};
use mux_proto::{Mux, transport::daemon_socket};
use tarpc::server::{BaseChannel, Channel, Config};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, debug, info, info_span, warn};

use self::{
    catch_panics::CatchPanics,
    connection::{ConnectionState, PeerIds, SUCCESSOR_CONNECTION},
    descriptor_reserve::{DescriptorPermit, DescriptorReserve},
    request_frames::RequestFrames,
    request_handler::RequestHandler,
};
pub(crate) use self::{
    connected_agents::ConnectedAgents, metrics::serve as serve_metrics, watchdog_probe::lives,
};
use crate::daemon::Daemon;
use mux_process::{descriptor_limits::are_used_up, malloc_trim};

/// How long a client may take to send `hello` after it has connected.
const CLIENT_HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a second accept may take, once a descriptor was lent: a waiting client is accepted immediately.
const ACCEPT_TIMEOUT: Duration = Duration::from_millis(100);
/// The longest time that a long poll waits.
const MAX_LONG_POLL: Duration = Duration::from_secs(30);
/// The maximum number of concurrent requests of one connection.
const MAX_REQUESTS_PER_CONNECTION: usize = 256;
/// The maximum number of connections. An idle one costs a descriptor and less than 20 KiB.
const MAX_CONNECTIONS: usize = 4_096;
/// After this many connections have closed, freed memory is returned to the system.
const MEMORY_TRIM_CONNECTIONS: usize = 64;

/// The open connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientConnections {
    tasks: TaskTracker,
    closing: CancellationToken,
    /// How often accepting a client failed.
    failures: Arc<watch::Sender<u64>>,
    /// The maximum number of connections open at the same time since memory was last returned.
    most: Arc<AtomicUsize>,
}

impl ClientConnections {
    fn failures(&self) -> u64 {
        *self.failures.borrow()
    }

    /// Resolves when a client could not be accepted, after `failures` was `before`.
    async fn failed_since(&self, before: u64) {
        let mut failures = self.failures.subscribe();
        // The sender lives as long as `self`.
        drop(failures.wait_for(|now| *now != before).await);
    }

    /// Waits until all clients have disconnected by themselves.
    pub(crate) async fn wait_until_closed(&self, patience: Duration) {
        self.tasks.close();
        _ = tokio::time::timeout(patience, self.tasks.wait()).await;
    }

    /// Serves a connection in the background.
    fn spawn<S>(
        &self,
        lent: Option<DescriptorPermit>,
        stream: S,
        (number, connection): (u64, Arc<ConnectionState>),
    ) where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let span = info_span!("client", number);
        let serving =
            serve_connection(lent, stream, connection, self.closing.clone()).instrument(span);
        let all = self.clone();
        // `map`, because an async block would store the future twice.
        self.tasks.spawn(serving.map(move |()| all.count_closed()));
        self.count_opened();
    }

    /// Updates the peak after a connection was opened.
    fn count_opened(&self) {
        self.most.fetch_max(self.tasks.len(), Ordering::Relaxed);
    }

    /// Returns memory to the system if enough connections have closed since the peak.
    fn count_closed(&self) {
        let open = self.tasks.len();
        if self.most.load(Ordering::Relaxed) >= open + MEMORY_TRIM_CONNECTIONS {
            self.most.store(open, Ordering::Relaxed);
            malloc_trim::give_back_soon();
        }
    }

    /// Stops reading requests, and waits until all pending answers have been sent.
    pub(crate) async fn close(&self, patience: Duration) {
        self.closing.cancel();
        self.tasks.close();
        // Clients that do not read, and longer requests, are abandoned.
        _ = tokio::time::timeout(patience, self.tasks.wait()).await;
    }
}

/// Accepts connections until `stop` is cancelled. Does not wait for them to end.
pub(crate) async fn accept(
    listener: &Listener,
    daemon: Arc<Daemon>,
    connections: &ClientConnections,
    stop: CancellationToken,
) {
    let mut number = 0_u64;
    let reserve = DescriptorReserve::new();
    let mut cramped = DescriptorShortage::default();
    loop {
        let next = tokio::select! {
            () = stop.cancelled() => return,
            next = accept_next(listener, &reserve, &mut cramped) => next,
        };
        let Some((stream, lent)) = next else {
            connections.failures.send_modify(|count| *count += 1);
            // Open connections may free descriptors meanwhile.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Some(peer) = peer_of_same_user(&stream) else {
            warn!("refused a connection of another user");
            continue;
        };
        if connections.tasks.len() >= MAX_CONNECTIONS {
            warn!("refused a connection: {MAX_CONNECTIONS} are open");
            continue;
        }
        let stream = match daemon_socket(stream) {
            Ok(stream) => stream,
            Err(error) => {
                warn!(%error, "cannot wait for a client's requests");
                continue;
            }
        };
        number += 1;
        let connection = ConnectionState::new(Arc::clone(&daemon), number, peer, lent.is_some());
        connections.spawn(lent, stream, (number, connection));
    }
}

/// Serves the client at the other end of a stream that this program opened itself.
pub(crate) fn serve_stream<S>(
    stream: S,
    number: u64,
    daemon: Arc<Daemon>,
    connections: &ClientConnections,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let connection = ConnectionState::new(daemon, number, (None, None), false);
    connections.spawn(None, stream, (number, connection));
}

/// Serves a connection of the successor, which answers its own clients about the runs that continue here.
pub(crate) fn serve_successor<S>(stream: S, daemon: Arc<Daemon>, connections: &ClientConnections)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let connection = ConnectionState::new(daemon, SUCCESSOR_CONNECTION, (None, None), false);
    let serving = serve_connection(None, stream, connection, connections.closing.clone());
    let serving = serving.instrument(info_span!("successor"));
    connections.tasks.spawn(serving);
}

/// Accepts the next connection, with a lent descriptor if there is no other; `None` if none can be accepted.
async fn accept_next(
    listener: &Listener,
    reserve: &DescriptorReserve,
    cramped: &mut DescriptorShortage,
) -> Option<(Stream, Option<DescriptorPermit>)> {
    match listener.accept().await {
        Ok(stream) => {
            reserve.fill();
            cramped.report_recovery();
            Some((stream, None))
        }
        Err(error) => {
            cramped.report_shortage(&error);
            let lent = are_used_up(&error).then(|| reserve.lend()).flatten()?;
            let accepted = timeout(ACCEPT_TIMEOUT, listener.accept()).await.ok()?;
            Some((accepted.ok()?, Some(lent)))
        }
    }
}

/// Whether no connection can be accepted, which is logged once, not at each attempt.
#[derive(Default)]
struct DescriptorShortage(bool);

impl DescriptorShortage {
    fn report_shortage(&mut self, error: &std::io::Error) {
        if !std::mem::replace(&mut self.0, true) {
            warn!(%error, "cannot accept connections");
        }
    }

    fn report_recovery(&mut self) {
        if std::mem::take(&mut self.0) {
            info!("connections are accepted again");
        }
    }
}

/// Serves one connection until its end, which is also the end of the runs that it owns. The lent descriptor is returned
/// last, when the connection's own is closed.
async fn serve_connection<S>(
    lent: Option<DescriptorPermit>,
    stream: S,
    connection: Arc<ConnectionState>,
    closing: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let gone = CancellationToken::new();
    let transport = RequestFrames::new(stream, gone.clone());
    let closed = {
        let connection = Arc::clone(&connection);
        async move {
            closing.cancelled().await;
            // A client that has just said hello is about to send a request: an error tells the client more than a
            // closed connection.
            if connection.is_greeted() {
                connection.wait_for_request().await;
            }
        }
    };
    let transport = transport.take_until(Box::pin(closed));
    let channel = BaseChannel::new(Config::default(), transport);
    let channel = channel.max_concurrent_requests(MAX_REQUESTS_PER_CONNECTION);
    let handler = RequestHandler::new(Arc::clone(&connection));
    let requests = channel
        .execute(CatchPanics(handler.serve()))
        // Boxed: the set of futures keeps space for one more future than it has, and the largest takes 15 KiB.
        .for_each_concurrent(None, Box::pin);
    let greeted = connection.wait_for_hello();
    tokio::pin!(requests, greeted);
    tokio::select! {
        () = &mut requests => return,
        () = gone.cancelled() => return,
        () = &mut greeted => {}
        () = tokio::time::sleep(CLIENT_HELLO_TIMEOUT) => {
            debug!("no hello within {CLIENT_HELLO_TIMEOUT:?}");
            return;
        }
    }
    let recalled = async {
        match &lent {
            Some(permit) => permit.recalled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = requests => {}
        // No client reads the pending answers.
        () = gone.cancelled() => {}
        () = recalled => debug!("another client needs its reserved file descriptor"),
        never = connection.notify_when_leaving() => match never {},
    }
    debug!("client disconnected");
}

/// The pid and uid of a peer that runs as this user. The socket's mode keeps other users out; this check works even if
/// the mode was loosened.
#[cfg(unix)]
fn peer_of_same_user(stream: &Stream) -> Option<PeerIds> {
    let me = nix::unistd::geteuid().as_raw();
    match stream.peer_creds() {
        Ok(creds) if creds.euid().is_none_or(|uid| uid == me) => {
            Some((peer_pid::peer_pid(stream, &creds), creds.euid()))
        }
        Ok(_) => None,
        Err(error) => {
            warn!(%error, "cannot read the credentials of a client");
            None
        }
    }
}

/// The pid of a peer. The access list of the pipe keeps other users out.
#[cfg(not(unix))]
fn peer_of_same_user(stream: &Stream) -> Option<PeerIds> {
    let pid = stream.peer_creds().ok().and_then(|creds| creds.pid());
    Some((pid, None))
}

#[cfg(all(test, unix))]
mod tests {
    use mux_proto::transport::{self, PeerOwner};

    use super::*;

    #[tokio::test]
    async fn peers_are_known_by_their_process_and_user() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("muxd.sock");
        let listener = transport::listen(&socket).unwrap();
        let client = transport::dial(&socket).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        let me = nix::unistd::geteuid().as_raw();
        let known = Some((Some(std::process::id()), Some(me)));
        assert_eq!(peer_of_same_user(&accepted), known);
        assert_eq!(transport::peer_owner(&client).unwrap(), PeerOwner::Us);
    }
}
