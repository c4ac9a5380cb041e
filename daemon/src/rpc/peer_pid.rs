//! The pid of a client whose credentials contain none.

use interprocess::local_socket::{PeerCreds, tokio::Stream};

/// macOS has a separate option for the pid, `LOCAL_PEERPID`.
#[cfg(target_os = "macos")]
pub(super) fn peer_pid(stream: &Stream, _: &PeerCreds) -> Option<u32> {
    use std::os::fd::AsFd as _;

    use nix::sys::socket::{getsockopt, sockopt::LocalPeerPid};

    let Stream::UdSocket(socket) = stream;
    let pid = getsockopt(&socket.as_fd(), LocalPeerPid).ok()?;
    u32::try_from(pid).ok().filter(|pid| *pid != 0)
}

#[cfg(not(target_os = "macos"))]
pub(super) fn peer_pid(_: &Stream, creds: &PeerCreds) -> Option<u32> {
    creds.pid().and_then(|pid| u32::try_from(pid).ok())
}
