//! The Unix socket that a sandbox reaches.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

pub(super) use tokio::net::{UnixListener as EgressListener, UnixStream as EgressStream};

/// The inode, which distinguishes a socket from the socket that has replaced it.
pub(super) type SocketIdentity = u64;

pub(super) fn socket_identity(socket: &Path) -> io::Result<SocketIdentity> {
    Ok(fs::symlink_metadata(socket)?.ino())
}
