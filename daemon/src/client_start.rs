//! How a client starts this process, and what it leaves behind: the client's session, its terminal, and both files that
//! it has inherited as standard input and output.
//!
//! Invariant: after [`take_files`] the returned files are the only handles to the lock and to the channel, whose end
//! the client waits for.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use unix::detach;
#[cfg(unix)]
pub(crate) use unix::{is_accepting, take_files};
#[cfg(windows)]
pub(crate) use windows::{is_accepting, take_files};
