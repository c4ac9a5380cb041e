//! How frames reach a worker and come back.
//!
//! - `unix`: a socket pair, whose other end is the worker's standard input.
//! - `windows`: the worker's standard input and output. A pipe there has one direction, since a read that waits would
//!   block the writes of a handle that is both.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::isolate_process;
pub(super) use system::{LinkReader, LinkSetup, LinkWriter};
