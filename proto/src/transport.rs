//! JSON frames over a local socket.
//!
//! Invariant: both sides check a frame's length against [`MAX_FRAME`] before reading any of it, and every call has an
//! explicit deadline that overflows no clock.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

#[cfg(unix)]
mod read_event_socket;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use system::{DaemonSocket, daemon_socket};
#[cfg(unix)]
pub use unix::adopt;

use interprocess::local_socket::{
    ConnectOptions, GenericFilePath, ToFsName,
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

/// The maximum length of a frame, in bytes.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// The longest deadline that a client may set.
pub const MAX_DEADLINE: Duration = Duration::from_hours(24);

/// The transport of a client: tarpc over JSON frames.
pub type FrameTransport<S, Item, SinkItem> = Transport<S, Item, SinkItem, Json<Item, SinkItem>>;

/// A stream of frames as bytes.
pub type FrameStream<S> = Framed<S, LengthDelimitedCodec>;

/// Makes an open stream the transport of a client.
pub fn frames<S, Item, SinkItem>(stream: S) -> FrameTransport<S, Item, SinkItem>
where
    S: AsyncRead + AsyncWrite,
    Item: DeserializeOwned,
    SinkItem: Serialize,
{
    tarpc::serde_transport::new(framed(stream), Json::default())
}

/// Makes an open stream one of byte frames, as the daemon reads them. Each is parsed by [`read_request`].
pub fn raw_frames<S: AsyncRead + AsyncWrite>(stream: S) -> FrameStream<S> {
    framed(stream)
}

/// The initial read buffer of a connection, in bytes. The buffer grows with longer frames, and a small start keeps a
/// thousand silent connections cheap. With a smaller buffer, `bytes` would allocate exactly the size of each frame:
/// the length and the rest of a frame would be read separately, and then the socket once more.
const FIRST_READ: usize = 1024;

fn framed<S: AsyncRead + AsyncWrite>(stream: S) -> FrameStream<S> {
    let codec = LengthDelimitedCodec::builder()
        .max_frame_length(MAX_FRAME)
        .new_codec();
    Framed::with_capacity(stream, codec, FIRST_READ)
}

/// The part of tarpc's envelope that is needed to check a request's deadline.
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

/// Parses a request. Its deadline is checked first, because tarpc adds it to its clock and panics on an overflow,
/// which no client may cause.
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

/// The response frame that refuses a request, or `None` if the frame is not a request. Only the envelope is parsed.
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

/// Connects to the first of these sockets on which a process listens.
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

/// The user that owns the other end of a connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PeerOwner {
    /// This user, or an owner that the system does not name.
    Us,
    /// Another one: its uid, or on Windows its SID.
    Other(String),
}

/// Who owns the other end of a connection to a daemon: credentials may be sent over it.
pub fn peer_owner(stream: &Stream) -> io::Result<PeerOwner> {
    system::peer_owner(stream)
}

/// Binds the daemon's socket for only its owner. An existing file is replaced, so the caller must hold the instance
/// lock.
pub fn listen(socket: &Path) -> io::Result<Listener> {
    system::listen(socket)
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
