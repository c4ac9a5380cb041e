//! A pipe is opened again, which gives it separate flags. A socket is used with calls that do not block.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    pin::Pin,
    task::{Context, Poll, ready},
};

use nix::sys::{
    socket::{MsgFlags, recv, send},
    stat::{SFlag, fstat},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf, unix::AsyncFd},
    net::unix::pipe,
};

use super::{AgentInput, AgentOutput};

/// `None` for a file or a terminal, and for a pipe that may not be opened.
pub(super) fn open_input() -> Option<AgentInput> {
    let input = io::stdin();
    if is_socket(&input) {
        return Some(Box::new(SharedSocket::of(&input)?));
    }
    let pipe = pipe::OpenOptions::new().open_receiver(reopening_path(&input));
    Some(Box::new(pipe.ok()?))
}

pub(super) fn open_output() -> Option<AgentOutput> {
    let output = io::stdout();
    if is_socket(&output) {
        return Some(Box::new(SharedSocket::of(&output)?));
    }
    let pipe = pipe::OpenOptions::new().open_sender(reopening_path(&output));
    Some(Box::new(pipe.ok()?))
}

fn is_socket(fd: &impl AsFd) -> bool {
    let mode = fstat(fd).map_or(SFlag::empty(), |found| {
        SFlag::from_bits_truncate(found.st_mode)
    });
    mode & SFlag::S_IFMT == SFlag::S_IFSOCK
}

/// The file that gives a pipe separate flags when it is opened.
fn reopening_path(fd: &impl AsFd) -> String {
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}

/// A stream socket in blocking mode.
struct SharedSocket(AsyncFd<OwnedFd>);

impl SharedSocket {
    fn of(fd: &impl AsFd) -> Option<Self> {
        let socket = fd.as_fd().try_clone_to_owned().ok()?;
        #[expect(unsafe_code, reason = "the type has no safe constructor")]
        // SAFETY: an `OwnedFd` is open and returns the same descriptor until it is dropped, and the `AsyncFd` owns it.
        let socket = unsafe { AsyncFd::register(socket) };
        socket.ok().map(Self)
    }
}

impl AsyncRead for SharedSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(context))?;
            let read = guard.try_io(|socket| {
                let room = buffer.initialize_unfilled();
                Ok(recv(socket.as_raw_fd(), room, MsgFlags::MSG_DONTWAIT)?)
            });
            if let Ok(read) = read {
                buffer.advance(read?);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for SharedSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready(context))?;
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            let sent = guard.try_io(|socket| Ok(send(socket.as_raw_fd(), bytes, flags)?));
            if let Ok(sent) = sent {
                return Poll::Ready(sent);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use nix::fcntl::OFlag;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn socket_in_blocking_mode_is_read_and_written_without_blocking() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut reader = SharedSocket::of(&ours).unwrap();
        let mut writer = SharedSocket::of(&theirs).unwrap();
        let long = vec![b'x'; 8 << 20];
        let mut read = vec![0; long.len()];
        // On one thread: a call that waits would wait forever.
        let (written, filled) = tokio::join!(writer.write_all(&long), reader.read_exact(&mut read));
        written.unwrap();
        assert_eq!(filled.unwrap(), long.len());
        assert!(read == long);
        drop((writer, theirs));
        assert_eq!(reader.read(&mut read).await.unwrap(), 0, "it has ended");
    }

    #[tokio::test]
    async fn reopened_pipe_leaves_the_inherited_one_in_blocking_mode() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut sender = pipe::OpenOptions::new()
            .open_sender(reopening_path(&writer))
            .unwrap();
        let flags = nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_GETFL).unwrap();
        assert!(!OFlag::from_bits_truncate(flags).contains(OFlag::O_NONBLOCK));
        assert!(!is_socket(&reader));
        let mut receiver = pipe::OpenOptions::new()
            .open_receiver(reopening_path(&reader))
            .unwrap();
        sender.write_all(b"line\n").await.unwrap();
        drop((sender, writer));
        let mut text = String::new();
        receiver.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "line\n");
    }
}
