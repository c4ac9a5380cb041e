//! A listening socket that a service manager has bound, and keeps after us.
//!
//! Invariant: it is never unlinked by us, and whoever waits at it when we end is either turned away or
//! served by the next daemon.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixListener},
    path::{Path, PathBuf},
};

use nix::sys::socket::{AddressFamily, SockaddrLike, SockaddrStorage, getsockname, sockopt};

/// Why what was passed cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum PassedSocketError {
    #[error("the variables that say which sockets were passed cannot be read: {0}")]
    Variables(io::Error),
    #[error("what was passed is no listening Unix stream socket: set ListenStream= to a path")]
    NoListener,
    #[error("the socket that was passed has no absolute path: set ListenStream= to one")]
    NoPath,
    #[error("the socket that was passed cannot be used: {0}")]
    Io(#[from] io::Error),
}

#[derive(Debug)]
pub struct PassedSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl PassedSocket {
    pub(super) fn new(socket: OwnedFd) -> Result<Self, PassedSocketError> {
        if !listens(&socket) {
            return Err(PassedSocketError::NoListener);
        }
        let listener = UnixListener::from(socket);
        let address = listener.local_addr()?;
        let path = address.as_pathname().filter(|path| path.is_absolute());
        let path = path.ok_or(PassedSocketError::NoPath)?.to_owned();
        // Otherwise one who goes before he is taken would hold up everybody else.
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }

    /// Where it is bound.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The socket once more, to be listened on.
    pub fn socket(&self) -> io::Result<OwnedFd> {
        Ok(self.listener.try_clone()?.into())
    }

    /// Takes all who wait and lets them go, so that none of them starts the next daemon: they know that we
    /// end, and some do not want another one.
    pub fn turn_away(&self) {
        while let Ok((stream, _)) = self.listener.accept() {
            drop(stream);
        }
    }
}

fn listens(socket: &OwnedFd) -> bool {
    use std::os::fd::AsRawFd;

    let family = getsockname::<SockaddrStorage>(socket.as_raw_fd());
    let is_unix = family.is_ok_and(|name| name.family() == Some(AddressFamily::Unix));
    let kind = nix::sys::socket::getsockopt(socket, sockopt::SockType);
    let is_stream = kind.is_ok_and(|kind| kind == nix::sys::socket::SockType::Stream);
    let accepts = nix::sys::socket::getsockopt(socket, sockopt::AcceptConn).unwrap_or(false);
    is_unix && is_stream && accepts
}

/// Whether somebody who lives listens there, though nobody holds the lock: a service manager, which has
/// heard by now that a daemon is wanted. What a dead daemon left can be listened on by nobody else.
#[cfg(target_os = "linux")]
pub fn is_kept(socket: &Path) -> bool {
    use std::os::unix::net::UnixStream;

    let Ok(stream) = UnixStream::connect(socket) else {
        return false;
    };
    // Of a listener, it is who called listen().
    let listener = nix::sys::socket::getsockopt(&stream, sockopt::PeerCredentials);
    let me = std::process::id().cast_signed();
    listener.is_ok_and(|peer| {
        let pid = nix::unistd::Pid::from_raw(peer.pid());
        // One of another namespace has no number here.
        peer.pid() != me && (peer.pid() == 0 || nix::sys::signal::kill(pid, None).is_ok())
    })
}

#[cfg(not(target_os = "linux"))]
pub fn is_kept(_socket: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, os::unix::net::UnixStream};

    use super::*;

    #[test]
    fn whoever_waits_at_the_end_is_let_go_and_the_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("muxd.sock");
        let kept = UnixListener::bind(&path).unwrap();
        let passed = PassedSocket::new(kept.try_clone().unwrap().into()).unwrap();
        assert_eq!(passed.path(), path);
        let mut clients = [(); 3].map(|()| UnixStream::connect(&path).unwrap());
        passed.turn_away();
        for client in &mut clients {
            assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
        }
        drop(passed);
        assert!(path.exists());
        assert!(UnixStream::connect(&path).is_ok(), "it is listened on");
    }

    #[test]
    fn what_is_no_listening_socket_with_a_path_is_refused() {
        let (one, other) = UnixStream::pair().unwrap();
        assert!(matches!(
            PassedSocket::new(one.into()),
            Err(PassedSocketError::NoListener)
        ));
        drop(other);
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(matches!(
            PassedSocket::new(tcp.into()),
            Err(PassedSocketError::NoListener)
        ));
        let file = tempfile::tempfile().unwrap();
        assert!(matches!(
            PassedSocket::new(file.into()),
            Err(PassedSocketError::NoListener)
        ));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_is_kept_by_a_living_process_other_than_us() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("muxd.sock");
        assert!(!is_kept(&path));
        let ours = UnixListener::bind(&path).unwrap();
        assert!(!is_kept(&path), "our own");
        drop(ours);
        assert!(!is_kept(&path), "nobody listens any more");
    }
}
