//! The link to a worker: its standard input and output, two pipes.
//!
//! A socket for both directions would cost an extra wake-up for each message: a thread that waits in `read` on a
//! socket also wakes when the other side has read.

use std::{io, process::Stdio};

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

pub(super) type LinkReader = ChildStdout;
pub(super) type LinkWriter = ChildStdin;

/// Gives the worker that this command starts its ends.
pub(super) fn prepare(command: &mut Command) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
}

/// The daemon's ends.
pub(super) fn open(child: &mut Child) -> io::Result<(LinkReader, LinkWriter)> {
    let missing = || io::Error::other("the worker has no pipe");
    let reader = child.stdout.take().ok_or_else(missing)?;
    let writer = child.stdin.take().ok_or_else(missing)?;
    Ok((reader, writer))
}
