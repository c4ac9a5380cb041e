//! Frames over a local socket.
//!
//! Invariant: a frame's length is checked against [`MAX_FRAME`] before any of it is read, on both
//! sides, and every call has a deadline that somebody chose and that no clock overflows at.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use interprocess::local_socket::{
    ConnectOptions, GenericFilePath, ListenerOptions, ToFsName,
    tokio::{Listener, Stream},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tarpc::{
    ServerError,
    serde_transport::Transport,
    tokio_serde::formats::Json,
    tokio_util::codec::{Framed, LengthDelimitedCodec},
};
use tokio::io::{AsyncRead, AsyncWrite};

/// The longest frame in bytes.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// The longest deadline that a client may ask for.
pub const MAX_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

/// tarpc over JSON frames, as a client uses it.
pub type FrameTransport<S, Item, SinkItem> = Transport<S, Item, SinkItem, Json<Item, SinkItem>>;

/// Frames as bytes.
pub type FrameStream<S> = Framed<S, LengthDelimitedCodec>;

/// Speaks frames on an open stream, as a client.
pub fn frames<S, Item, SinkItem>(stream: S) -> FrameTransport<S, Item, SinkItem>
where
    S: AsyncRead + AsyncWrite,
    Item: DeserializeOwned,
    SinkItem: Serialize,
{
    tarpc::serde_transport::new(framed(stream), Json::default())
}

/// Frames on an open stream as bytes, as the daemon takes them. Each is read by [`read_request`].
pub fn raw_frames<S: AsyncRead + AsyncWrite>(stream: S) -> FrameStream<S> {
    framed(stream)
}

/// Room for reading that a connection has before it has said anything. It grows with the first frame, and
/// a thousand silent connections cost little.
const FIRST_READ: usize = 512;

fn framed<S: AsyncRead + AsyncWrite>(stream: S) -> FrameStream<S> {
    let codec = LengthDelimitedCodec::builder()
        .max_frame_length(MAX_FRAME)
        .new_codec();
    Framed::with_capacity(stream, codec, FIRST_READ)
}

/// As much of tarpc's envelope as that takes.
#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "Request")]
    request: Option<EnvelopeOfRequest>,
}

#[derive(Deserialize)]
struct EnvelopeOfRequest {
    id: u64,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    deadline: Option<Duration>,
}

/// A request from its frame, with a look at the deadline before tarpc adds it to its clock: it panics where they
/// overflow. No client is trusted with that.
pub fn read_request<Request: DeserializeOwned>(frame: &[u8]) -> io::Result<Request> {
    let envelope: Envelope = serde_json::from_slice(frame)?;
    if let Some(asked) = envelope
        .request
        .and_then(|request| request.context.deadline)
        && asked > MAX_DEADLINE
    {
        let message = format!("a deadline of {asked:?} is over {MAX_DEADLINE:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(serde_json::from_slice(frame)?)
}

/// The frame that refuses a request, none if this is the frame of something else. Only its envelope is read.
pub fn refusal(frame: &[u8], why: &str) -> Option<Vec<u8>> {
    let envelope: Envelope = serde_json::from_slice(frame).ok()?;
    let refused = ServerError::new(io::ErrorKind::InvalidInput, why.to_owned());
    let response = tarpc::Response::<()> {
        request_id: envelope.request?.id,
        message: Err(refused),
    };
    serde_json::to_vec(&response).ok()
}

/// Connects to the daemon's socket.
pub async fn dial(socket: &Path) -> io::Result<Stream> {
    let name = socket.to_fs_name::<GenericFilePath>()?;
    ConnectOptions::new().name(name).connect_tokio().await
}

/// Connects to the first of these sockets where somebody listens.
pub async fn dial_any(sockets: &[PathBuf]) -> io::Result<Stream> {
    let mut failure = io::ErrorKind::NotFound.into();
    for socket in sockets {
        match dial(socket).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
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

/// The same of a socket that somebody else has bound and listens on, such as a service manager. It is never
/// unlinked by us.
#[cfg(unix)]
pub fn adopt(socket: std::os::fd::OwnedFd) -> io::Result<Listener> {
    let listener = interprocess::os::unix::uds_local_socket::tokio::Listener::try_from(socket)?;
    Ok(Listener::UdSocket(listener))
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
