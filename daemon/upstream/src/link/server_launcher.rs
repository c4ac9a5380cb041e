//! Starts a server that is configured as a command: as a process, or wherever else its launcher runs it.

use std::{fmt, path::PathBuf};

use futures::future::BoxFuture;
use mux_keeper::KeptChild;
use mux_settings::ProcessServer;
use tokio::io::{AsyncRead, AsyncWrite};

use super::OpenError;

/// Starts servers.
pub trait ServerLauncher: fmt::Debug + Send + Sync {
    /// Starts the server of this name.
    fn launch<'a>(
        &'a self,
        name: &'a str,
        process: &'a ProcessServer,
    ) -> BoxFuture<'a, Result<LaunchedServer, LaunchError>>;
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
