//! Why there is no connection, or none any more.

use std::{io, path::PathBuf, time::Duration};

use mux_proto::{Error, Kind, endpoint::EndpointError};
use tarpc::client::RpcError;

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error("no muxd is running")]
    NotRunning,
    #[error("the muxd that runs is ending")]
    Ending,
    #[error("cannot connect to {path:?}: {source}")]
    Dial { path: PathBuf, source: io::Error },
    #[error("muxd did not answer hello within {0:?}; see `mux logs`")]
    Silent(Duration),
    #[error("the connection to muxd was lost: {0}")]
    Lost(String),
    #[error("{path:?} is served by user {owner}, not by you")]
    ForeignDaemon { path: PathBuf, owner: u32 },
    #[error(
        "muxd {pid} is stopped, by SIGSTOP or a debugger, and answers nobody; `kill -CONT {pid}` has it go on"
    )]
    Stopped { pid: u32 },
    #[error("cannot start {path:?}: {source}; {}", to_start(.source))]
    Spawn { path: PathBuf, source: io::Error },
    #[error(
        "cannot take the startup lock {path:?}: {source}; it must stand where you can write: make room or make it \
         writable, or set MUX_HOME to another directory"
    )]
    StartupLock { path: PathBuf, source: io::Error },
    #[error("muxd did not start: it ended without a word; see `mux logs`")]
    Stillborn,
    #[error("muxd did not start: {0}")]
    DidNotStart(String),
    #[error("muxd refused us: {}", .0.message)]
    Refused(mux_proto::Error),
    #[error("muxd speaks contract {theirs} and we speak {ours}, and it did not make room in time")]
    OtherContract { theirs: u32, ours: u32 },
}

/// What one does about a program that does not start.
fn to_start(error: &io::Error) -> &'static str {
    use io::ErrorKind::{NotFound, OutOfMemory, PermissionDenied, WouldBlock};
    match error.kind() {
        NotFound | PermissionDenied => "set MUX_DAEMON to the muxd program",
        WouldBlock => {
            "the system starts no more processes or threads for you: end some, or raise the limit (`ulimit -u`)"
        }
        OutOfMemory => "the system has no memory left: end other programs",
        _ => "if it is not the muxd program, set MUX_DAEMON to that",
    }
}

/// The daemon went away under a request: what it was doing may have happened.
pub fn lost(error: RpcError) -> Error {
    match error {
        RpcError::DeadlineExceeded => {
            Error::new(Kind::Timeout, "muxd did not answer in time").hint("see `mux logs`")
        }
        // Said by ourselves, in the daemon's name: nothing was sent.
        RpcError::Server(error) if error.kind == io::ErrorKind::Unsupported => Error::new(
            Kind::Unavailable,
            format!("the muxd that runs does not know `{}`", error.detail),
        )
        .hint("`mux restart` changes over"),
        RpcError::Server(error) => Error::new(Kind::Internal, error.detail),
        RpcError::Send(error) => Error::new(
            Kind::Unavailable,
            format!("nothing was sent to muxd: {error}"),
        ),
        error => Error::new(
            Kind::UnknownOutcome,
            format!("the connection to muxd was lost: {error}"),
        )
        .hint("calls that were on their way may have happened; look before you run it again"),
    }
}
