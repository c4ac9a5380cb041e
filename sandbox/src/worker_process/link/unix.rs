//! A socket pair.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream as StdStream},
    process::Stdio,
};

use tokio::{
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::{Child, Command},
};

pub(crate) type LinkReader = OwnedReadHalf;
pub(crate) type LinkWriter = OwnedWriteHalf;

/// The daemon's end, before the worker has started.
pub(crate) struct LinkSetup(StdStream);

impl LinkSetup {
    /// Gives the other end to the worker that this command starts.
    pub(crate) fn prepare(command: &mut Command) -> io::Result<Self> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null());
        Ok(Self(ours))
    }

    pub(crate) fn open(self, _child: &mut Child) -> io::Result<(LinkReader, LinkWriter)> {
        Ok(UnixStream::from_std(self.0)?.into_split())
    }
}

/// Starts the process in a group of its own, in the root directory.
pub(crate) fn isolate_process(command: &mut Command) {
    command.current_dir("/").process_group(0);
}
