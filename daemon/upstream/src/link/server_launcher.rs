//! Starts a server that is configured as a command: as a process, or wherever else its launcher runs it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use futures::{FutureExt as _, future::BoxFuture};
use mux_confine::{
    DiscardedFiles, EgressLease, RefusedConnection, SandboxGrants, SuggestedSandbox,
};
use mux_keeper::KeptChild;
use mux_settings::ProcessServer;
use tokio::io::{AsyncRead, AsyncWrite};

use super::OpenError;

/// Starts servers.
pub trait ServerLauncher: fmt::Debug + Send + Sync {
    /// Starts the server of this name, whose log is `log`.
    fn launch<'a>(
        &'a self,
        name: &'a str,
        process: &'a ProcessServer,
        log: &'a Path,
    ) -> BoxFuture<'a, Result<LaunchedServer, OpenError>>;

    /// Takes over what a running server needs of its daemon, and returns what has to be kept as long as it runs.
    fn adopt<'a>(
        &'a self,
        _name: &'a str,
        _process: &'a ProcessServer,
        _log: &'a Path,
    ) -> BoxFuture<'a, Option<EgressLease>> {
        async { None }.boxed()
    }

    /// What a sandbox of the server grants in effect. For a server without one, what an empty one would.
    fn sandbox_grants<'a>(
        &'a self,
        _name: &'a str,
        _process: &'a ProcessServer,
        _log: &'a Path,
    ) -> BoxFuture<'a, SandboxReport> {
        async {
            SandboxReport {
                layers: Vec::new(),
                grants: Err("the server is not a process".into()),
            }
        }
        .boxed()
    }

    /// From now on the server starts without a sandbox and is observed, until [`end_observation`](Self::end_observation).
    fn begin_observation(&self, _log: &Path) -> Result<(), ObservationError> {
        Err(ObservationError::Impossible(
            "the server is not a process".into(),
        ))
    }

    fn is_observed(&self, _log: &Path) -> bool {
        false
    }

    /// The server starts as its entry says again. Returns the sandbox that would have sufficed.
    fn end_observation(&self, _log: &Path) -> Result<SuggestedSandbox, ObservationError> {
        Ok(SuggestedSandbox::default())
    }

    /// The connections that the sandboxes of the server with this log have refused.
    fn refused_connections(&self, _log: &Path) -> Vec<RefusedConnection> {
        Vec::new()
    }

    /// The files that were lost with the empty homes of the server's sandboxes.
    fn discarded_files(&self, _log: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Forgets what is known of a server that is no longer configured.
    fn forget(&self, _log: &Path) {}
}

/// What surrounds a running server, and has to be kept as long as it runs.
#[derive(Debug, Default)]
pub struct RunningSandbox {
    /// The names of the layers; empty without a sandbox.
    pub layers: Vec<String>,
    pub egress: Option<EgressLease>,
    /// Its empty home, and where the files in it are recorded before it is gone.
    pub empty_home: Option<(PathBuf, DiscardedFiles)>,
}

/// What is known of the sandboxes of one server.
#[derive(Clone, Debug, Default)]
pub struct SandboxState {
    /// The layers around the server that was started last; empty before one was started in a sandbox.
    pub layers: Vec<String>,
    /// The connections that were refused.
    pub refused: Vec<RefusedConnection>,
}

/// What this machine enforces, and what a sandbox grants there.
#[derive(Clone, Debug)]
pub struct SandboxReport {
    pub layers: Vec<&'static str>,
    /// The error says why the sandbox cannot be had.
    pub grants: Result<SandboxGrants, String>,
}

/// Why a server cannot be observed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ObservationError {
    #[error("it is observed already; end that first")]
    AlreadyObserved,
    #[error("{0}")]
    Impossible(String),
}

/// A running server.
pub enum LaunchedServer {
    /// A process, with pipes to all three of its streams.
    Process(KeptChild, RunningSandbox),
    /// A server inside another program, which owns it: it ends with its streams, and cannot be handed over.
    Embedded {
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
    },
}
