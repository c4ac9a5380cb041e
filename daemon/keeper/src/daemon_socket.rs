//! The keeper's end of the socket to its daemon.
//!
//! Invariant: no function here blocks. A daemon that does not read delays its own requests, never the keeper's reaping
//! and killing.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, ErrorKind},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use nix::poll::PollFlags;

use super::{
    descriptor_passing,
    wire::{FrameBuffer, FrameError, KeeperEvent, KeeperRequest, OutgoingFrame},
};

/// The number of queued frames above which no more requests are read: each frame may carry three descriptors, and a
/// process may have as few as a thousand.
const MAX_OUTBOX_FRAMES: usize = 64;

pub(super) struct DaemonSocket {
    stream: UnixStream,
    inbox: FrameBuffer,
    outbox: VecDeque<OutgoingFrame>,
    /// Descriptors received with requests that were not read yet.
    fds: VecDeque<OwnedFd>,
    /// The daemon has closed neither its end nor its sending direction.
    open: bool,
}

impl DaemonSocket {
    /// Takes the socket that the daemon passed as standard input.
    pub(super) fn from_stdin() -> io::Result<Self> {
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        // The daemon must see our end close when all its children have ended, even if the keeper continues for another
        // daemon.
        let null = File::open("/dev/null")?;
        nix::unistd::dup2_stdin(&null)?;
        Ok(Self::over(socket))
    }

    /// Wraps the socket of another daemon.
    pub(super) fn over(socket: OwnedFd) -> Self {
        DaemonSocket {
            stream: UnixStream::from(socket),
            inbox: FrameBuffer::default(),
            outbox: VecDeque::new(),
            fds: VecDeque::new(),
            open: true,
        }
    }

    /// The descriptor that came with the request just read.
    pub(super) fn take_fd(&mut self) -> Option<OwnedFd> {
        self.fds.pop_front()
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn close(&mut self) {
        self.open = false;
    }

    pub(super) fn queue(
        &mut self,
        event: &KeeperEvent,
        pipes: Vec<OwnedFd>,
    ) -> Result<(), FrameError> {
        self.outbox.push_back(OutgoingFrame::new(event, pipes)?);
        Ok(())
    }

    /// The events to poll for, or `None` if the socket is finished.
    pub(super) fn interest(&self) -> Option<PollFlags> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::POLLIN, self.accepts());
        flags.set(PollFlags::POLLOUT, !self.outbox.is_empty());
        // With no flags, poll still reports a daemon that has exited.
        (self.open || !flags.is_empty()).then_some(flags)
    }

    /// Reads available data, after `poll` returned `seen`.
    pub(super) fn receive(&mut self, seen: PollFlags) -> io::Result<()> {
        if self.accepts() && seen.contains(PollFlags::POLLIN) {
            // Reads until the end of file, to lose no earlier request.
            self.read()?;
        } else if seen.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) {
            self.open = false;
        }
        Ok(())
    }

    pub(super) fn next_request(&mut self) -> Result<Option<KeeperRequest>, FrameError> {
        self.inbox.next_message()
    }

    /// Sends as much as the socket accepts now.
    pub(super) fn flush(&mut self) {
        while let Some(frame) = self.outbox.front_mut() {
            match frame.send(&self.stream) {
                Ok(true) => drop(self.outbox.pop_front()),
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The daemon has exited. Dropping the frames closes their pipes.
                Err(_) => {
                    self.outbox.clear();
                    self.open = false;
                }
            }
        }
    }

    fn accepts(&self) -> bool {
        self.open && self.outbox.len() < MAX_OUTBOX_FRAMES && !self.inbox.is_full()
    }

    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        match descriptor_passing::receive(&self.stream, &mut buffer, &mut self.fds) {
            Ok(0) => self.open = false,
            Ok(count) => self.inbox.push(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => {
                self.open = false;
                return Err(error);
            }
        }
        Ok(())
    }
}

impl AsFd for DaemonSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
