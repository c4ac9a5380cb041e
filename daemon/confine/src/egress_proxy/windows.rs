//! No socket: on Windows no sandbox could reach one, and `enforceable` has already refused the host list.

use std::{convert::Infallible, io, path::Path};

pub(super) type EgressStream = tokio::io::DuplexStream;

pub(super) type SocketIdentity = Infallible;

/// Has no values.
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
