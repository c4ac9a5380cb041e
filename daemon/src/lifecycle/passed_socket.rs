//! A listening socket that a service manager has bound and passed, and that outlives the daemon.
//!
//! Invariant: the daemon never unlinks it, and clients that wait at it when the daemon ends are either dropped or
//! served by the next daemon.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;

#[cfg(unix)]
pub use self::unix::{PassedSocket, is_kept};
#[cfg(windows)]
pub use self::windows::{PassedSocket, is_kept};

/// The reason a passed socket cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PassedSocketError {
    #[error("cannot read the variables that name the passed sockets: {0}")]
    Variables(io::Error),
    #[error("the passed socket is not a listening Unix stream socket: set ListenStream= to a path")]
    NoListener,
    #[error("the passed socket has no absolute path: set ListenStream= to one")]
    NoPath,
    #[error("the passed socket cannot be used: {0}")]
    Io(#[from] io::Error),
}
