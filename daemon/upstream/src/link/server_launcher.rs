//! Starts a server that is configured as a command: as a process, or in any other way that its launcher chooses.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use futures::{FutureExt as _, future::BoxFuture};
use mux_confine::{Denial, DiscardedFiles, EgressLease, ImplicitGrants, unobserved};
use mux_keeper::KeptChild;
use mux_messages::SandboxSuggestion;
use mux_settings::ProcessServer;
use tokio::io::{AsyncRead, AsyncWrite};

use super::OpenError;

/// Identifies a server, which another project may have under the same name.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ServerIdentity {
    key: String,
    log: PathBuf,
}

impl ServerIdentity {
    /// The identity of the server with this key, whose log is in `logs`.
    pub(crate) fn new(key: String, logs: &Path) -> Self {
        Self {
            log: logs.join(format!("{key}.log")),
            key,
        }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    /// The server's log.
    pub fn log(&self) -> &Path {
        &self.log
    }
}

/// Starts servers.
pub trait ServerLauncher: fmt::Debug + Send + Sync {
    /// Starts the server of this name.
    fn launch<'a>(
        &'a self,
        name: &'a str,
        process: &'a ProcessServer,
        identity: &'a ServerIdentity,
    ) -> BoxFuture<'a, Result<LaunchedServer, OpenError>>;

    /// Takes over a running server's surroundings from its daemon, and returns the guards to keep as long as it runs.
    fn adopt<'a>(
        &'a self,
        _name: &'a str,
        _process: &'a ProcessServer,
        _identity: &'a ServerIdentity,
    ) -> BoxFuture<'a, Option<EgressLease>> {
        async { None }.boxed()
    }

    /// The access that the server's sandbox grants in effect or, for a server without a sandbox, the access that an
    /// empty sandbox would grant.
    fn sandbox_grants<'a>(
        &'a self,
        _name: &'a str,
        _process: &'a ProcessServer,
        _identity: &'a ServerIdentity,
    ) -> BoxFuture<'a, SandboxReport> {
        async {
            SandboxReport {
                layers: Vec::new(),
                grants: Err("the server is not a process".into()),
            }
        }
        .boxed()
    }

    /// Makes the server start without a sandbox and under observation, until
    /// [`end_observation`](Self::end_observation).
    fn begin_observation(&self, _identity: &ServerIdentity) -> Result<(), ObservationError> {
        Err(ObservationError::Impossible(
            "the server is not a process".into(),
        ))
    }

    fn is_observed(&self, _identity: &ServerIdentity) -> bool {
        false
    }

    /// Makes the server start as its entry says again. Returns the sandbox that would have sufficed.
    fn end_observation(
        &self,
        _identity: &ServerIdentity,
    ) -> Result<SandboxSuggestion, ObservationError> {
        Ok(unobserved())
    }

    /// The connections that the server's sandboxes have refused.
    fn refused_connections(&self, _identity: &ServerIdentity) -> Vec<Denial<String>> {
        Vec::new()
    }

    /// The files that were lost with the empty homes of the server's sandboxes.
    fn discarded_files(&self, _identity: &ServerIdentity) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Forgets the state of a server that is no longer configured.
    fn forget(&self, _identity: &ServerIdentity) {}
}

/// The surroundings of a running server, which must be kept as long as it runs.
#[derive(Debug, Default)]
pub struct RunningSandbox {
    /// The names of the layers. Empty without a sandbox.
    pub layers: Vec<String>,
    pub egress: Option<EgressLease>,
    /// The server's empty home, and the record of the files in it before it is gone.
    pub empty_home: Option<(PathBuf, DiscardedFiles)>,
}

/// The state of one server's sandboxes.
#[derive(Clone, Debug, Default)]
pub struct SandboxState {
    /// The layers around the server that was started last. Empty before the first start in a sandbox.
    pub layers: Vec<String>,
    /// The connections that were refused.
    pub refused: Vec<Denial<String>>,
}

/// The layers that this machine enforces, and the access that a sandbox grants there.
#[derive(Clone, Debug)]
pub struct SandboxReport {
    pub layers: Vec<&'static str>,
    /// The error says why the sandbox is not available.
    pub grants: Result<ImplicitGrants, String>,
}

/// The reason a server cannot be observed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ObservationError {
    #[error("it is already being observed; end that observation first")]
    AlreadyObserved,
    #[error("{0}")]
    Impossible(String),
}

/// A running server.
pub enum LaunchedServer {
    /// A process, with pipes to all three of its streams.
    Process(KeptChild, RunningSandbox),
    /// A server inside another program, which owns it. The server ends with its streams, and cannot be handed over.
    Embedded {
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
    },
}
