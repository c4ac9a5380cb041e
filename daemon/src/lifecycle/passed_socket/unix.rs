//! A Unix socket, as a descriptor.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixListener},
    path::{Path, PathBuf},
};

use interprocess::local_socket::tokio::Listener;
use mux_proto::transport;
use nix::sys::socket::{AddressFamily, SockaddrLike, SockaddrStorage, getsockname, sockopt};

use super::PassedSocketError;

#[derive(Debug)]
pub struct PassedSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl PassedSocket {
    pub(in super::super) fn new(socket: OwnedFd) -> Result<Self, PassedSocketError> {
        if !listens(&socket) {
            return Err(PassedSocketError::NoListener);
        }
        let listener = UnixListener::from(socket);
        let address = listener.local_addr()?;
        let path = address.as_pathname().filter(|path| path.is_absolute());
        let path = path.ok_or(PassedSocketError::NoPath)?.to_owned();
        // Otherwise accept would block if a client disconnects before it is accepted.
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }

    /// The path to which the socket is bound.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A listener on a duplicate of the socket.
    pub fn listener(&self) -> io::Result<Listener> {
        transport::adopt(self.listener.try_clone()?.into())
    }

    /// Accepts and drops all waiting clients, which would otherwise start the next daemon: they see that this daemon
    /// ends, and some do not want another.
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

/// True if another living process listens at `socket` although the instance lock is free: a service manager, which this
/// connection tells to start a daemon. A dead daemon's socket has no listener.
#[cfg(target_os = "linux")]
pub fn is_kept(socket: &Path) -> bool {
    use std::os::unix::net::UnixStream;

    let Ok(stream) = UnixStream::connect(socket) else {
        return false;
    };
    // For a listener, these are the credentials of the process that called listen().
    let listener = nix::sys::socket::getsockopt(&stream, sockopt::PeerCredentials);
    let me = std::process::id().cast_signed();
    listener.is_ok_and(|peer| {
        let pid = nix::unistd::Pid::from_raw(peer.pid());
        // The pid is 0 if the process belongs to another pid namespace.
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
    fn turn_away_drops_waiting_clients_and_keeps_the_socket_file() {
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
    fn descriptors_other_than_listening_unix_sockets_are_refused() {
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
        assert!(
            !is_kept(&path),
            "the file of a socket without a listener is stale"
        );
    }
}
