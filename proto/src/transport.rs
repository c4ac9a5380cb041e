//! Frames over a local socket.
//!
//! Invariant: a frame's length is checked against [`MAX_FRAME`] before any of it is read, on both
//! sides, and every call has a deadline that somebody chose.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use interprocess::local_socket::{
    ConnectOptions, GenericFilePath, ListenerOptions, ToFsName,
    tokio::{Listener, Stream},
};
use serde::{Serialize, de::DeserializeOwned};
use tarpc::{
    serde_transport::Transport,
    tokio_serde::formats::Json,
    tokio_util::codec::{Framed, LengthDelimitedCodec},
};
use tokio::io::{AsyncRead, AsyncWrite};

/// The longest frame in bytes.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// tarpc over JSON frames, as both sides use it.
pub type FrameTransport<S, Item, SinkItem> = Transport<S, Item, SinkItem, Json<Item, SinkItem>>;

/// Speaks frames on an open stream.
pub fn frames<S, Item, SinkItem>(stream: S) -> FrameTransport<S, Item, SinkItem>
where
    S: AsyncRead + AsyncWrite,
    Item: DeserializeOwned,
    SinkItem: Serialize,
{
    let codec = LengthDelimitedCodec::builder()
        .max_frame_length(MAX_FRAME)
        .new_codec();
    tarpc::serde_transport::new(Framed::new(stream, codec), Json::default())
}

/// Connects to the daemon's socket.
pub async fn dial(socket: &Path) -> io::Result<Stream> {
    let name = socket.to_fs_name::<GenericFilePath>()?;
    ConnectOptions::new().name(name).connect_tokio().await
}

/// Binds the daemon's socket for its owner alone. Whatever stands there is replaced, so the caller
/// must hold the instance lock.
pub fn listen(socket: &Path) -> io::Result<Listener> {
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

/// The context of a call that must be answered within `deadline`.
#[expect(
    clippy::disallowed_methods,
    reason = "the deadline is set in the next line"
)]
pub fn within(deadline: Duration) -> tarpc::context::Context {
    let mut context = tarpc::context::current();
    context.deadline = Instant::now() + deadline;
    context
}
