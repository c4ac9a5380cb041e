//! The daemon's ends of a child's three pipes.
//!
//! - `unix`: a descriptor, which the keeper has passed or a direct child has left, becomes a pipe of tokio.
//! - `windows`: tokio's pipes of a child that the daemon itself has started.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use system::{HandedPipes, StderrPipe, StdinPipe, StdoutPipe, hand_over};
pub(super) use system::{StderrEnd, StdinEnd, StdoutEnd, open};
