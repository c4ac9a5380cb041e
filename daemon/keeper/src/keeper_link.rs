//! The daemon's end of the socket to the keeper: events in, requests out.
//!
//! Invariant: the only await is for readiness, so a cancelled [`turn`](KeeperLink::turn) loses no byte and no
//! descriptor.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    os::{fd::OwnedFd, unix::net::UnixStream as StdStream},
};

use tokio::{
    io::{AsyncWriteExt, Interest},
    net::UnixStream,
};

use super::{
    descriptor_passing::{self, ReceivedBytes},
    kept_child::StartedChild,
    wire::{FDS_PER_CHILD, FrameBuffer, FrameError, KeeperEvent, KeeperRequest, OutgoingFrame},
};

pub(super) struct KeeperLink {
    stream: UnixStream,
    inbox: FrameBuffer,
    /// `None` for each descriptor that the kernel could not deliver.
    fds: VecDeque<Option<OwnedFd>>,
    outbox: VecDeque<OutgoingFrame>,
    open: bool,
}

impl KeeperLink {
    pub(super) fn new(stream: StdStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(KeeperLink {
            stream: UnixStream::from_std(stream)?,
            inbox: FrameBuffer::default(),
            fds: VecDeque::new(),
            outbox: VecDeque::new(),
            open: true,
        })
    }

    /// Returns true if more events can still arrive from the keeper.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn queue(&mut self, request: &KeeperRequest) -> Result<(), FrameError> {
        self.queue_with(request, Vec::new())
    }

    /// Queues a request. The descriptors go with its first byte.
    pub(super) fn queue_with(
        &mut self,
        request: &KeeperRequest,
        fds: Vec<OwnedFd>,
    ) -> Result<(), FrameError> {
        self.outbox.push_back(OutgoingFrame::new(request, fds)?);
        Ok(())
    }

    /// Sends queued requests, until none is left or the keeper has exited.
    pub(super) async fn flush(&mut self) {
        while self.open && !self.outbox.is_empty() {
            if self.stream.writable().await.is_err() || self.write().is_err() {
                return;
            }
        }
    }

    /// The next complete event.
    pub(super) fn next_event(&mut self) -> Result<Option<KeeperEvent>, FrameError> {
        self.inbox.next_message()
    }

    /// The pipes of the `Spawned` event just read. The inner `None` means that the kernel could not deliver them.
    #[expect(
        clippy::option_option,
        reason = "not arrived yet, not deliverable, or here"
    )]
    pub(super) fn take_pipes(&mut self, pid: u32) -> Option<Option<StartedChild>> {
        let mut next = || self.fds.pop_front();
        let all = (next()?, next()?, next()?);
        let (Some(stdin), Some(stdout), Some(stderr)) = all else {
            return Some(None);
        };
        Some(Some(StartedChild {
            pid,
            stdin,
            stdout,
            stderr,
        }))
    }

    /// Waits until the socket can be used, and uses it once in each direction.
    pub(super) async fn turn(&mut self) -> io::Result<()> {
        let interest = if self.outbox.is_empty() {
            Interest::READABLE
        } else {
            Interest::READABLE | Interest::WRITABLE
        };
        let ready = self.stream.ready(interest).await?;
        if ready.is_writable() && !self.outbox.is_empty() {
            self.write()?;
        }
        if ready.is_readable() {
            self.read()?;
        }
        Ok(())
    }

    /// Tells the keeper to end everything. Its events can still be read.
    pub(super) async fn half_close(&mut self) {
        // An error means that the keeper has closed its end, which `turn` reports.
        self.stream.shutdown().await.ok();
        self.outbox.clear();
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(frame) = self.outbox.front_mut() else {
            return Ok(());
        };
        let stream = &self.stream;
        match stream.try_io(Interest::WRITABLE, || frame.send(stream)) {
            Ok(true) => drop(self.outbox.pop_front()),
            Ok(false) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // The keeper's last events may still wait to be read. The end of file follows them.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.outbox.clear(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let stream = &self.stream;
        let mut fds = VecDeque::new();
        let received = stream.try_io(Interest::READABLE, || {
            descriptor_passing::receive_some(stream, &mut buffer, &mut fds)
        });
        match received {
            Ok(ReceivedBytes { count: 0, .. }) => self.open = false,
            Ok(ReceivedBytes { count, cut }) => {
                self.inbox.push(&buffer[..count]);
                if cut {
                    self.fds.extend((0..FDS_PER_CHILD).map(|_| None));
                } else {
                    self.fds.extend(fds.into_iter().map(Some));
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // A keeper that was killed with requests unread resets the socket.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.open = false,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
