//! The socket between two daemons: frames, and descriptors that are sent with a frame's first byte.
//!
//! Invariant: each await is for readiness only, so a cancelled read loses no byte and no descriptor that was received.

use std::{
    collections::VecDeque,
    io,
    os::{fd::OwnedFd, unix::net::UnixStream as StdStream},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use tokio::{io::Interest, net::UnixStream, time::timeout};

use super::error::HandoverError;
use mux_keeper::{
    descriptor_passing,
    wire::{FrameBuffer, OutgoingFrame},
};

#[derive(Debug)]
pub(super) struct HandoverChannel {
    stream: UnixStream,
    inbox: FrameBuffer,
    fds: VecDeque<OwnedFd>,
}

impl HandoverChannel {
    pub(super) fn new(stream: StdStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream: UnixStream::from_std(stream)?,
            inbox: FrameBuffer::default(),
            fds: VecDeque::new(),
        })
    }

    pub(super) async fn send(&self, frame: &impl Serialize) -> io::Result<()> {
        self.send_with(frame, Vec::new()).await
    }

    /// Sends a frame. The descriptors go with its first byte, and are then closed here.
    pub(super) async fn send_with(
        &self,
        frame: &impl Serialize,
        fds: Vec<OwnedFd>,
    ) -> io::Result<()> {
        let mut frame = OutgoingFrame::new(frame, fds).map_err(io::Error::other)?;
        loop {
            self.stream.writable().await?;
            let stream = &self.stream;
            match stream.try_io(Interest::WRITABLE, || frame.send(stream)) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next frame; `None` at the end of the stream.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(frame) = self.inbox.next_message().map_err(io::Error::other)? {
                return Ok(Some(frame));
            }
            self.stream.readable().await?;
            let mut buffer = [0; 16 << 10];
            let stream = &self.stream;
            let fds = &mut self.fds;
            let received = stream.try_io(Interest::READABLE, || {
                descriptor_passing::receive(stream, &mut buffer, fds)
            });
            match received {
                Ok(0) => return Ok(None),
                Ok(count) => self.inbox.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next frame, if `who` sends it within `limit`, in order to do `what`.
    pub(super) async fn hear<T: DeserializeOwned>(
        &mut self,
        who: &'static str,
        what: &'static str,
        limit: Duration,
    ) -> Result<Option<T>, HandoverError> {
        match timeout(limit, self.next()).await {
            Ok(said) => Ok(said?),
            Err(_) => Err(HandoverError::Silent { who, what, limit }),
        }
    }

    /// Takes the `N` descriptors of the frame that was just read.
    pub(super) fn take<const N: usize>(&mut self) -> io::Result<[OwnedFd; N]> {
        let fds: Vec<OwnedFd> = self.fds.drain(..N.min(self.fds.len())).collect();
        fds.try_into()
            .map_err(|_| io::Error::other("a frame came without its descriptors"))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{Read, Write, pipe},
    };

    use super::*;

    #[tokio::test]
    async fn frames_longer_than_the_socket_takes_arrive_with_their_descriptors() {
        let (near, far) = StdStream::pair().unwrap();
        let near = HandoverChannel::new(near).unwrap();
        let mut far = HandoverChannel::new(far).unwrap();
        let long = "x".repeat(700 << 10);
        let sending = async {
            for name in [b"a", b"b"] {
                let (read, mut write) = pipe().unwrap();
                write.write_all(name).unwrap();
                near.send_with(&long, vec![read.into()]).await.unwrap();
            }
            drop(near);
        };
        let receiving = async {
            let mut said = String::new();
            while let Some(frame) = far.next::<String>().await.unwrap() {
                assert_eq!(frame.len(), long.len());
                let [fd] = far.take().unwrap();
                File::from(fd).read_to_string(&mut said).unwrap();
            }
            assert!(far.take::<1>().is_err());
            said
        };
        let ((), said) = tokio::join!(sending, receiving);
        assert_eq!(said, "ab");
    }
}
