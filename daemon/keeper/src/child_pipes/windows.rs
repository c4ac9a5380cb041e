//! Pipes as tokio opens them with a child.

use std::io;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::kept_child::StartedChild;

// Boxed, because they are many times as large as a descriptor.
pub type StdinPipe = Box<ChildStdin>;
pub type StdoutPipe = Box<ChildStdout>;
pub type StderrPipe = Box<ChildStderr>;

pub(crate) type StdinEnd = ChildStdin;
pub(crate) type StdoutEnd = ChildStdout;
pub(crate) type StderrEnd = ChildStderr;

/// Cannot fail here, unlike where the ends are descriptors.
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
pub(crate) fn open(child: StartedChild) -> io::Result<(StdinPipe, StdoutPipe, StderrPipe)> {
    Ok((
        Box::new(child.stdin),
        Box::new(child.stdout),
        Box::new(child.stderr),
    ))
}

/// Uninhabited, because there is no handover on Windows.
#[derive(Debug)]
pub enum HandedPipes {}

/// Fails: there is no handover on Windows.
pub fn hand_over(_pipes: (StdinPipe, StdoutPipe, StderrPipe)) -> io::Result<HandedPipes> {
    Err(io::ErrorKind::Unsupported.into())
}
