//! Connects to the daemon's socket and sends `hello`.
//!
//! Invariant: only `hello` is ever sent twice. Every other request is sent once, by the caller, on a connection on
//! which `hello` was answered.

use std::{io, path::PathBuf, time::Duration};

use interprocess::local_socket::tokio::Stream;
use mux_proto::{
    ClientInfo, Hello, Kind, MuxClient, Welcome,
    endpoint::Dirs,
    transport::{self, PeerOwner},
    version::{self, BUILD, CONTRACT, FEATURES},
};
use tarpc::client::{Config, RpcError};

use tokio::time::timeout;

use crate::{
    ConnectError,
    feature_gate::{FeatureGate, ListedFeatures},
    lock_holder,
    process_state::is_process_stopped,
    spawn, wait_for_exit,
};

const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a daemon may disappear between its start and our `hello` before connecting fails.
const MAX_CONNECT_ATTEMPTS: usize = 5;

/// The client's description of itself, sent with `hello`.
#[derive(Clone, Debug, Default)]
pub struct ClientIdentity {
    pub name: String,
    pub version: String,
    pub agent: Option<String>,
    /// The client's working directory.
    pub workspace: Option<PathBuf>,
    /// The client acts for an agent: it finds only its own runs, and hints do not name commands.
    pub for_agent: bool,
    /// The profile by which output is adapted to the agent.
    pub profile: Option<String>,
}

impl ClientIdentity {
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            ..Self::default()
        }
    }

    fn to_hello(&self) -> Hello {
        Hello {
            contract: CONTRACT,
            build: BUILD.into(),
            client: ClientInfo {
                name: self.name.clone(),
                version: self.version.clone(),
            },
            agent: self.agent.clone(),
            workspace: self.workspace.clone(),
            features: version::features(),
            for_agent: self.for_agent,
            profile: self.profile.clone(),
        }
    }
}

/// A connection to the daemon on which `hello` was answered.
#[derive(Clone, Debug)]
pub struct Session {
    pub client: MuxClient,
    pub welcome: Welcome,
}

/// The context of a request that must be answered within this time.
pub fn within_seconds(seconds: u64) -> tarpc::context::Context {
    transport::within(Duration::from_secs(seconds))
}

/// Connects to the running daemon. Never starts one.
pub async fn connect(dirs: &Dirs, me: &ClientIdentity) -> Result<Session, ConnectError> {
    dirs.prepare()?;
    let mut last = ConnectError::NotRunning;
    for _ in 0..MAX_CONNECT_ATTEMPTS {
        // A serving daemon holds the lock. If a service manager owns the socket, dialing would start a daemon.
        if let Ok(None) = lock_holder(dirs) {
            return Err(ConnectError::NotRunning);
        }
        match dial_and_greet(dirs, me).await {
            Err(ConnectError::Ending) => return Err(ConnectError::NotRunning),
            // The daemon ended at that moment. There may be another one.
            Err(error @ ConnectError::Lost(_)) => last = error,
            greeted => return greeted,
        }
    }
    Err(last)
}

/// Connects to the running daemon, or starts one. `program` is the path of `muxd`; by default the `muxd` next to
/// this program.
pub async fn connect_or_spawn(
    dirs: &Dirs,
    program: Option<PathBuf>,
    me: &ClientIdentity,
) -> Result<Session, ConnectError> {
    dirs.prepare()?;
    let mut last = ConnectError::NotRunning;
    for _ in 0..MAX_CONNECT_ATTEMPTS {
        match dial_and_greet(dirs, me).await {
            Ok(session) if session.welcome.contract == CONTRACT => return Ok(session),
            Ok(session) => {
                // The old daemon drains and exits. The daemon started below waits for its lock.
                let theirs = session.welcome.contract;
                last = ConnectError::OtherContract {
                    theirs,
                    ours: CONTRACT,
                };
                let reason = format!("a client needs contract {CONTRACT}");
                drop(session.client.retire(within_seconds(5), reason).await);
            }
            Err(error @ ConnectError::NotRunning) => last = error,
            // If a service manager owns the socket, no other code waits for the successor.
            Err(ConnectError::Ending) => wait_for_successor(dirs).await,
            Err(error @ (ConnectError::Lost(_) | ConnectError::Silent(_))) => last = error,
            Err(error) => return Err(error),
        }
        match spawn::start_daemon(dirs, program.clone()).await {
            // The new daemon may have been killed.
            Err(error @ ConnectError::Stillborn) => last = error,
            started => started?,
        }
    }
    Err(last)
}

/// Waits until a daemon that is shutting down has released its lock, at most for the startup timeout.
async fn wait_for_successor(dirs: &Dirs) {
    if let Ok(Some(pid)) = lock_holder(dirs) {
        // Errors show when the next daemon is started.
        drop(timeout(spawn::STARTUP_TIMEOUT, wait_for_exit(dirs, pid)).await);
    }
}

pub(crate) async fn dial_and_greet(
    dirs: &Dirs,
    me: &ClientIdentity,
) -> Result<Session, ConnectError> {
    let path = dirs.socket();
    let stream = match transport::dial_any(&dirs.sockets()).await {
        Ok(stream) => stream,
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Err(ConnectError::NotRunning);
        }
        // The socket's listen backlog is full.
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            return Err(ConnectError::Lost(e.to_string()));
        }
        Err(source) => return Err(ConnectError::Dial { path, source }),
    };
    check_owner(&stream, path.clone())?;
    let stream =
        transport::daemon_socket(stream).map_err(|source| ConnectError::Dial { path, source })?;
    let features = ListedFeatures::default();
    let frames = transport::frames(stream);
    let gate = FeatureGate::new(frames, FEATURES, ListedFeatures::clone(&features));
    let client = MuxClient::new(Config::default(), gate).spawn();
    match client
        .hello(transport::within(HELLO_TIMEOUT), me.to_hello())
        .await
    {
        Ok(Ok(welcome)) => {
            // `hello` is answered once.
            drop(features.set(welcome.features.clone()));
            Ok(Session { client, welcome })
        }
        // Treated like no daemon, but the next one must wait for its lock.
        Ok(Err(error)) if error.kind == Kind::Unavailable => Err(ConnectError::Ending),
        Ok(Err(error)) => Err(ConnectError::Refused(error)),
        Err(RpcError::DeadlineExceeded) => Err(match lock_holder(dirs) {
            Ok(Some(pid)) if is_process_stopped(pid) => ConnectError::Stopped { pid },
            _ => ConnectError::Silent(HELLO_TIMEOUT),
        }),
        Err(error) => Err(ConnectError::Lost(error.to_string())),
    }
}

/// Fails if another user owns the other end: credentials may be sent over this socket.
fn check_owner(stream: &Stream, path: PathBuf) -> Result<(), ConnectError> {
    match transport::peer_owner(stream) {
        Ok(PeerOwner::Us) => Ok(()),
        Ok(PeerOwner::Other(owner)) => Err(ConnectError::ForeignDaemon { path, owner }),
        Err(source) => Err(ConnectError::Dial { path, source }),
    }
}
