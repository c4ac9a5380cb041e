//! Errors between the daemon and its keeper, and of starting a program.
//!
//! Invariant: no message contains an argument or an environment value, which may be secrets.

use std::{io, path::PathBuf, process::ExitStatus, time::Duration};

use thiserror::Error;

/// The keeper itself cannot be started or reached. The remedy is to start another one.
#[derive(Debug, Error)]
pub enum KeeperError {
    #[error("set up the socket to the keeper")]
    Socket(#[source] io::Error),
    #[error("start the keeper {}", exe.display())]
    Start {
        exe: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("start the keeper: it exited ({0}) before the handshake")]
    Stillborn(ExitStatus),
    #[error("start the keeper: no handshake within {0:?}")]
    Silent(Duration),
    #[error("talk to the keeper: it speaks protocol version {theirs}, the daemon {ours}")]
    OtherVersion { ours: u32, theirs: u32 },
    #[error("reach the keeper: it has exited")]
    Gone,
    #[error("get an answer from the keeper within {0:?}")]
    NoAnswer(Duration),
}

/// One program cannot be started. Only the `Keeper` variant affects later programs.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// `searched` are the directories of `PATH`, each once.
    #[error("`{}` is not in PATH{}", program.display(), if searched.is_empty() { ", which is empty" } else { "" })]
    NotInPath {
        program: PathBuf,
        searched: Vec<PathBuf>,
    },
    #[error("{}: there is no such file", program.display())]
    NotFound { program: PathBuf },
    #[error("{}: the interpreter that it names does not exist", program.display())]
    NoInterpreter { program: PathBuf },
    #[error("execute {}: it is not an executable file", program.display())]
    NotExecutable { program: PathBuf },
    #[error("enter the working directory {}: {reason}", cwd.display())]
    BadCwd { cwd: PathBuf, reason: String },
    #[error("start {}: {reason}", program.display())]
    Other {
        program: PathBuf,
        reason: String,
        errno: Option<i32>,
    },
    #[error("start the program through the keeper")]
    Keeper(#[from] KeeperError),
}
