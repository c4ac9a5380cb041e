//! Descriptors of pipes.

use std::{io, os::fd::OwnedFd};

use tokio::net::unix::pipe;

use crate::kept_child::StartedChild;

pub type StdinPipe = pipe::Sender;
pub type StdoutPipe = pipe::Receiver;
pub type StderrPipe = pipe::Receiver;

pub(crate) type StdinEnd = OwnedFd;
pub(crate) type StdoutEnd = OwnedFd;
pub(crate) type StderrEnd = OwnedFd;

/// Must be called inside a tokio runtime with IO.
pub(crate) fn open(child: StartedChild) -> io::Result<(StdinPipe, StdoutPipe, StderrPipe)> {
    Ok((
        pipe::Sender::from_owned_fd(child.stdin)?,
        pipe::Receiver::from_owned_fd(child.stdout)?,
        pipe::Receiver::from_owned_fd(child.stderr)?,
    ))
}

/// Input, output and error output, as the next daemon gets them.
pub type HandedPipes = [OwnedFd; 3];

/// Takes the pipes of a child out of this daemon's runtime.
pub fn hand_over(
    (stdin, stdout, stderr): (StdinPipe, StdoutPipe, StderrPipe),
) -> io::Result<HandedPipes> {
    Ok([
        stdin.into_nonblocking_fd()?,
        stdout.into_nonblocking_fd()?,
        stderr.into_nonblocking_fd()?,
    ])
}
