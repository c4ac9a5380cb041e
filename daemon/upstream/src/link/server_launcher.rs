//! Starts a server that is configured as a command: as a process, or wherever else its launcher runs it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use futures::{FutureExt as _, future::BoxFuture};
use mux_confine::RefusedConnection;
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
    ) -> BoxFuture<'a, Result<LaunchedServer, LaunchError>>;

    /// Takes over what a running server needs of its daemon.
    fn adopt<'a>(
        &'a self,
        _name: &'a str,
        _process: &'a ProcessServer,
        _log: &'a Path,
    ) -> BoxFuture<'a, ()> {
        async {}.boxed()
    }

    /// What is known of the sandboxes of the server with this log.
    fn sandbox_state(&self, _log: &Path) -> SandboxState {
        SandboxState::default()
    }
}

/// What is known of the sandboxes of one server.
#[derive(Clone, Debug, Default)]
pub struct SandboxState {
    /// The layers in force; empty before a server was started in a sandbox.
    pub layers: Vec<&'static str>,
    /// The connections that were refused.
    pub refused: Vec<RefusedConnection>,
}

/// A running server.
pub enum LaunchedServer {
    /// A process, with pipes to all three of its streams.
    Process(KeptChild),
    /// A server inside another program, which owns it: it ends with its streams, and cannot be handed over.
    Embedded {
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
    },
}

/// Why a server could not be started.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program of its command does not exist in these directories of `PATH`.
    #[error("`{program}` is not in PATH")]
    NotInPath {
        program: String,
        searched: Vec<PathBuf>,
    },
    /// The file of its command does not exist.
    #[error("{0}")]
    NoProgramFile(String),
    #[error("{0}")]
    Failed(String),
}

impl From<LaunchError> for OpenError {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::NotInPath { program, searched } => Self::NotInPath { program, searched },
            LaunchError::NoProgramFile(why) => Self::NoProgramFile(why),
            LaunchError::Failed(problem) => Self::Failed(problem),
        }
    }
}
