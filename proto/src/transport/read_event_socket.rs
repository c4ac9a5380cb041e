//! A Unix socket that is registered for read events, and for write events only after a write did not fit.
//!
//! The kernel reports room to write whenever the other side has read something. A socket that is registered for both
//! kinds of events, as tokio's own sockets are, therefore wakes its process once more for each message that it has
//! sent.
//!
//! Invariant: once a write did not fit, the socket is registered for both events, and its reader is polled again.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, unix::AsyncFd};

#[derive(Debug)]
pub struct ReadEventSocket {
    /// `None` if it could not be registered again.
    socket: Option<AsyncFd<UnixStream>>,
    has_write_events: bool,
    /// The task that reads. Its waker is lost when the socket registers anew.
    reader: Option<Waker>,
}

impl ReadEventSocket {
    /// Registers a connected socket with the current runtime.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        let socket = UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: Some(register(socket, Interest::READABLE)?),
            has_write_events: false,
            reader: None,
        })
    }

    fn socket(&self) -> io::Result<&AsyncFd<UnixStream>> {
        self.socket
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn add_write_events(&mut self) -> io::Result<()> {
        let socket = self.socket.take().map(AsyncFd::into_inner);
        let socket = socket.ok_or(io::ErrorKind::NotConnected)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        self.socket = Some(register(socket, both)?);
        self.has_write_events = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Ok(())
    }
}

#[expect(
    unsafe_code,
    reason = "tokio cannot know that the descriptor stays the same"
)]
fn register(socket: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    // SAFETY: the descriptor of a `UnixStream` is open, and the same one, until it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(socket, interest) }?)
}

impl AsyncRead for ReadEventSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.has_write_events
            && !this
                .reader
                .as_ref()
                .is_some_and(|reader| reader.will_wake(cx.waker()))
        {
            this.reader = Some(cx.waker().clone());
        }
        let socket = this.socket()?;
        loop {
            let mut readiness = ready!(socket.poll_read_ready(cx))?;
            let unfilled = buffer.initialize_unfilled();
            match socket.get_ref().read(unfilled) {
                Ok(read) => {
                    // A short read means that no more data is available. The end stays readable.
                    if (1..unfilled.len()).contains(&read) {
                        readiness.clear_ready();
                    }
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => readiness.clear_ready(),
                    io::ErrorKind::Interrupted => {}
                    _ => return Poll::Ready(Err(error)),
                },
            }
        }
    }
}

impl AsyncWrite for ReadEventSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            if !self.has_write_events {
                match self.socket()?.get_ref().write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.add_write_events()?;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    written => return Poll::Ready(written),
                }
            }
            let socket = self.socket()?;
            let mut readiness = ready!(socket.poll_write_ready(cx))?;
            match socket.get_ref().write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => readiness.clear_ready(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket()?.get_ref().shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
    };

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, split},
        net::UnixStream as PeerStream,
    };

    use super::*;

    /// More than the buffer of a socket has room for.
    const LONG: usize = 4 << 20;

    fn pair() -> (ReadEventSocket, PeerStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let ours = ReadEventSocket::new(ours.into()).unwrap();
        (ours, PeerStream::from_std(theirs).unwrap())
    }

    #[derive(Default)]
    struct CountWakes(AtomicUsize);

    impl Wake for CountWakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn reader_is_not_woken_when_the_other_side_reads() {
        let (mut ours, mut theirs) = pair();
        let wakes = Arc::new(CountWakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut context = Context::from_waker(&waker);
        let mut space = [0; 8];
        let mut buffer = ReadBuf::new(&mut space);
        let mut poll = |ours: &mut ReadEventSocket| {
            Pin::new(ours)
                .poll_read(&mut context, &mut buffer)
                .is_ready()
        };
        assert!(!poll(&mut ours));
        ours.write_all(b"message").await.unwrap();
        theirs.read_exact(&mut [0; 7]).await.unwrap();
        // An event of another socket comes after all events of this one.
        let (mut later, mut sender) = pair();
        sender.write_all(b"x").await.unwrap();
        assert_eq!(later.read(&mut [0; 8]).await.unwrap(), 1);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
        theirs.write_all(b"answer").await.unwrap();
        sender.write_all(b"x").await.unwrap();
        assert_eq!(later.read(&mut [0; 8]).await.unwrap(), 1);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert!(poll(&mut ours));
        assert_eq!(buffer.filled(), b"answer");
    }

    #[tokio::test]
    async fn write_that_does_not_fit_waits_and_keeps_the_reader() {
        let (ours, mut theirs) = pair();
        let (mut reader, mut writer) = split(ours);
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            reader.read_to_string(&mut text).await.map(|_| text)
        });
        let writing = tokio::spawn(async move {
            writer.write_all(&vec![7; LONG]).await.unwrap();
            writer
        });
        let mut read = vec![0; LONG / 2];
        theirs.read_exact(&mut read).await.unwrap();
        theirs.write_all(b"meanwhile").await.unwrap();
        theirs.shutdown().await.unwrap();
        assert_eq!(reading.await.unwrap().unwrap(), "meanwhile");
        theirs.read_exact(&mut read).await.unwrap();
        assert!(read.iter().all(|byte| *byte == 7));
        let mut writer = writing.await.unwrap();
        writer.shutdown().await.unwrap();
        assert_eq!(theirs.read(&mut read).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn closed_socket_is_an_end_and_an_error() {
        let (mut ours, theirs) = pair();
        drop(theirs);
        assert_eq!(ours.read(&mut [0; 8]).await.unwrap(), 0);
        let error = ours.write_all(b"x").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
