//! How this process detaches from the client that starts it: from the client's session and terminal, and from both
//! files that it has inherited as standard input and output.
//!
//! Invariant: after [`take_files`] the returned files are the only handles to the lock and to the channel. The client
//! waits for the channel's end.

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
