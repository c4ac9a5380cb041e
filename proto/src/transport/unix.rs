//! Unix sockets: a file with mode 0600, and peers with a uid.

use std::{io, os::fd::OwnedFd, path::Path};

use interprocess::local_socket::{
    GenericFilePath, ListenerOptions, ToFsName,
    tokio::{Listener, Stream},
    traits::StreamCommon as _,
};

use super::PeerOwner;
pub use super::read_event_socket::ReadEventSocket as DaemonSocket;

/// Wraps a connection to wake its task no more often than necessary.
pub fn daemon_socket(stream: Stream) -> io::Result<DaemonSocket> {
    let Stream::UdSocket(stream) = stream;
    DaemonSocket::new(OwnedFd::try_from(stream)?)
}

#[expect(clippy::unnecessary_wraps, reason = "as on Windows")]
pub(super) fn peer_owner(stream: &Stream) -> io::Result<PeerOwner> {
    let me = nix::unistd::geteuid().as_raw();
    Ok(match stream.peer_creds().map(|creds| creds.euid()) {
        Ok(Some(owner)) if owner != me => PeerOwner::Other(owner.to_string()),
        _ => PeerOwner::Us,
    })
}

pub(super) fn listen(socket: &Path) -> io::Result<Listener> {
    match std::fs::remove_file(socket) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let name = socket.to_fs_name::<GenericFilePath>()?;
    let options = ListenerOptions::new().name(name).reclaim_name(false);
    #[cfg(target_os = "linux")]
    let options = {
        use interprocess::os::unix::local_socket::ListenerOptionsExt;
        options.mode(0o600)
    };
    options.create_tokio()
}

/// A listener on a socket that another process has bound, such as a service manager. The daemon never unlinks it.
pub fn adopt(socket: OwnedFd) -> io::Result<Listener> {
    let listener = interprocess::os::unix::uds_local_socket::tokio::Listener::try_from(socket)?;
    Ok(Listener::UdSocket(listener))
}
