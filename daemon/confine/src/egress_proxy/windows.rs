//! No socket: there is no sandbox on Windows that could reach one, and `enforceable` refuses a list of hosts before.

use std::{convert::Infallible, io, path::Path};

pub(super) type EgressStream = tokio::io::DuplexStream;

pub(super) type SocketIdentity = Infallible;

/// Cannot be had.
pub(super) enum EgressListener {}

impl EgressListener {
    pub(super) fn bind(_socket: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub(super) async fn accept(&self) -> io::Result<(EgressStream, ())> {
        match *self {}
    }
}

pub(super) fn socket_identity(_socket: &Path) -> io::Result<SocketIdentity> {
    Err(io::ErrorKind::Unsupported.into())
}
