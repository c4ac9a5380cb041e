//! The daemon's door: connections on the local socket, each greeted, each with a limit.
//!
//! Invariant: nothing below this module names `mux-proto`; `convert` translates both ways.

mod approvals;
mod budget;
mod call;
mod catalog;
mod contained;
mod convert;
mod discovery;
mod door;
mod handler;
mod held;
mod login;
mod metrics;
mod notices;
mod offers;
mod pins;
mod policy;
mod probe;
mod program;
mod projects;
mod request_frames;
mod reserve;
mod runs;
mod secrets;
mod settings;
mod sources;
mod status;
mod told;
mod upgrade;
mod watched;

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
use mux_proto::Mux;
use tarpc::server::{BaseChannel, Channel, Config};
#[cfg(target_os = "linux")]
use tokio::net::UnixStream;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, debug, info, info_span, warn};

use self::{
    contained::Contained,
    door::{Door, Peer, SUCCESSOR},
    handler::Connection,
    request_frames::RequestFrames,
    reserve::{Lent, Reserve},
    watched::Watched,
};
pub(crate) use self::{metrics::serve as serve_metrics, probe::lives};
use crate::state::Daemon;
use mux_process::{descriptors::are_used_up, freed_memory};

/// A client that has connected must say hello within this time.
const GREETING: Duration = Duration::from_secs(5);
/// Somebody who waits at the door is there, or has gone.
const AT_THE_DOOR: Duration = Duration::from_millis(100);
/// The longest that one long poll waits.
const POLL: Duration = Duration::from_secs(30);
/// Requests of one client at once.
const REQUESTS: usize = 256;
/// Connections at once. An idle one costs a descriptor and less than 20 KiB.
const CONNECTIONS: usize = 4_096;
/// So many that have gone leave memory that is worth giving back.
const CROWD: usize = 64;

/// The open connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    tasks: TaskTracker,
    closing: CancellationToken,
    /// How often nobody could be let in.
    failures: Arc<watch::Sender<u64>>,
    /// The most that were open at once since memory was given back.
    most: Arc<AtomicUsize>,
}

impl Connections {
    fn failures(&self) -> u64 {
        *self.failures.borrow()
    }

    /// Resolves when once more nobody could be let in.
    async fn failed_since(&self, before: u64) {
        let mut failures = self.failures.subscribe();
        // The sender lives as long as `self`.
        drop(failures.wait_for(|now| *now != before).await);
    }

    /// Waits until all have gone by themselves.
    pub(crate) async fn gone(&self, patience: Duration) {
        self.tasks.close();
        _ = tokio::time::timeout(patience, self.tasks.wait()).await;
    }

    /// One more is open.
    fn came(&self) {
        self.most.fetch_max(self.tasks.len(), Ordering::Relaxed);
    }

    /// One of them is over.
    fn left(&self) {
        let open = self.tasks.len();
        if self.most.load(Ordering::Relaxed) >= open + CROWD {
            self.most.store(open, Ordering::Relaxed);
            freed_memory::give_back_soon();
        }
    }

    /// Reads nothing more from anybody, and waits until every answer that is owed has been sent.
    pub(crate) async fn close(&self, patience: Duration) {
        self.closing.cancel();
        self.tasks.close();
        // A client that does not read, or a request that takes longer, is left behind.
        _ = tokio::time::timeout(patience, self.tasks.wait()).await;
    }
}

/// Takes connections until told to stop, and then waits for none of them.
pub(crate) async fn accept(
    listener: &Listener,
    daemon: Arc<Daemon>,
    connections: &Connections,
    stop: CancellationToken,
) {
    let mut number = 0_u64;
    let reserve = Reserve::new();
    let mut cramped = Cramped::default();
    loop {
        let next = tokio::select! {
            () = stop.cancelled() => return,
            next = next(listener, &reserve, &mut cramped) => next,
        };
        let Some((stream, lent)) = next else {
            connections.failures.send_modify(|count| *count += 1);
            // Those who are in may finish.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Some(peer) = ours(&stream) else {
            warn!("refused a connection of another user");
            continue;
        };
        if connections.tasks.len() >= CONNECTIONS {
            warn!("refused a connection: {CONNECTIONS} are open");
            continue;
        }
        number += 1;
        let span = info_span!("client", number);
        let door = Door::new(Arc::clone(&daemon), number, peer, lent.is_some());
        let serving = serve(lent, stream, door, connections.closing.clone()).instrument(span);
        let all = connections.clone();
        // An async block would have room for it twice.
        connections.tasks.spawn(serving.map(move |()| all.left()));
        connections.came();
    }
}

/// Lets the daemon in that has taken over from this one: it tells its clients of the runs that go on here.
#[cfg(target_os = "linux")]
pub(crate) fn let_in(stream: UnixStream, daemon: Arc<Daemon>, connections: &Connections) {
    let door = Door::new(daemon, SUCCESSOR, (None, None), false);
    let serving = serve(None, stream, door, connections.closing.clone());
    let serving = serving.instrument(info_span!("successor"));
    connections.tasks.spawn(serving);
}

/// The next one at the door, on a place that was put by if there is no other. Nobody if nobody can be let in.
async fn next(
    listener: &Listener,
    reserve: &Reserve,
    cramped: &mut Cramped,
) -> Option<(Stream, Option<Lent>)> {
    match listener.accept().await {
        Ok(stream) => {
            reserve.fill();
            cramped.over();
            Some((stream, None))
        }
        Err(error) => {
            cramped.by(&error);
            let lent = are_used_up(&error).then(|| reserve.lend()).flatten()?;
            let accepted = timeout(AT_THE_DOOR, listener.accept()).await.ok()?;
            Some((accepted.ok()?, Some(lent)))
        }
    }
}

/// Whether nobody can be let in, which is logged once and not at every look.
#[derive(Default)]
struct Cramped(bool);

impl Cramped {
    fn by(&mut self, error: &std::io::Error) {
        if !std::mem::replace(&mut self.0, true) {
            warn!(%error, "cannot accept connections");
        }
    }

    fn over(&mut self) {
        if std::mem::take(&mut self.0) {
            info!("connections are accepted again");
        }
    }
}

/// One connection until its end, which is also the end of the runs that it owns. What it was lent goes back behind
/// everything else, when its own descriptor is free.
async fn serve<S>(_lent: Option<Lent>, stream: S, door: Arc<Door>, closing: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let gone = CancellationToken::new();
    let transport = Watched::new(RequestFrames::new(stream), gone.clone());
    let closed = {
        let door = Arc::clone(&door);
        async move {
            closing.cancelled().await;
            // Who was greeted a moment ago is about to ask: a refusal tells it more than silence.
            if door.is_greeted() {
                door.asked().await;
            }
        }
    };
    let transport = transport.take_until(Box::pin(closed));
    let channel = BaseChannel::new(Config::default(), transport);
    let channel = channel.max_concurrent_requests(REQUESTS);
    let connection = Connection::new(Arc::clone(&door));
    let requests = channel
        .execute(Contained(connection.serve()))
        // In boxes: the set of them keeps room for one more than there are, and the longest takes 15 KiB.
        .for_each_concurrent(None, Box::pin);
    let greeted = door.greeted();
    tokio::pin!(requests, greeted);
    tokio::select! {
        () = &mut requests => return,
        () = gone.cancelled() => return,
        () = &mut greeted => {}
        () = tokio::time::sleep(GREETING) => {
            debug!("no hello within {GREETING:?}");
            return;
        }
    }
    tokio::select! {
        () = requests => {}
        // Nobody reads the answers that are still being worked on.
        () = gone.cancelled() => {}
        never = door.tells_to_leave() => match never {},
    }
    debug!("client gone");
}

/// Who connects, if it is this user. The socket's mode keeps others out; this holds when somebody loosened it.
#[cfg(unix)]
fn ours(stream: &Stream) -> Option<Peer> {
    let me = nix::unistd::geteuid().as_raw();
    match stream.peer_creds() {
        Ok(creds) if creds.euid().is_none_or(|uid| uid == me) => {
            let pid = creds.pid().and_then(|pid| u32::try_from(pid).ok());
            Some((pid, creds.euid()))
        }
        Ok(_) => None,
        Err(error) => {
            warn!(%error, "cannot tell who connects");
            None
        }
    }
}

#[cfg(not(unix))]
fn ours(_stream: &Stream) -> Option<Peer> {
    Some((None, None))
}
