//! The protocol between the daemon and its keeper: frames of a u32 length (little-endian) and JSON.
//!
//! Invariant: among the events only `Spawned` carries descriptors, always exactly three, and among the requests only
//! `Admit`, always one, sent with the first byte of the frame. A stream socket preserves their order, so received
//! descriptors belong to the next such frame that is read.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;

use super::{
    descriptor_passing,
    kept_child::{ChildExit, SpawnSpec, StopSignal, TreeLimits},
};

/// Both sides are the same binary, except during an upgrade, when the versions may differ. The version also changes
/// with a keeper's duties: a keeper that ignores `limits` would leave a sandbox without them.
pub const KEEPER_PROTOCOL_VERSION: u32 = 3;

/// The longest frame, without its length prefix. Linux allows at most 2 MiB of arguments and environment.
pub const MAX_FRAME_BYTES: usize = 1 << 20;

/// Standard input (write end), output and error (read ends) of a new child, in this order.
pub(super) const FDS_PER_CHILD: usize = 3;

/// A request of the daemon. `id` is chosen by the daemon and never reused.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeeperRequest {
    Spawn(SpawnRequest),
    /// Signals the child's process group and all its descendants. An unknown `id` is ignored.
    Signal {
        id: u64,
        signal: StopSignal,
    },
    /// Also serve another daemon, over the socket that comes with this frame.
    Admit {},
    /// Gives the child to that daemon, which gets its events. The child ends with that daemon.
    Give {
        id: u64,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) struct SpawnRequest {
    pub(super) id: u64,
    pub(super) program: OsText,
    pub(super) args: Vec<OsText>,
    /// The complete environment of the child, without the marker that the keeper adds.
    pub(super) env: Vec<(OsText, OsText)>,
    pub(super) cwd: OsText,
    pub(super) tag: String,
    #[serde(default)]
    pub(super) limits: TreeLimits,
}

/// A response or report of the keeper.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeeperEvent {
    /// The first frame: from now on, the keeper owns the children that it is asked to start. The `id`s that this
    /// daemon chooses are above `base`, which keeps two daemons from choosing the same.
    Hello { wire: u32, base: u64 },
    /// The child has started. Carries [`FDS_PER_CHILD`] descriptors.
    Spawned { id: u64, pid: u32 },
    SpawnFailed {
        id: u64,
        kind: SpawnFailure,
        message: String,
        errno: Option<i32>,
    },
    /// The main process of the child has ended. Its leftovers are being ended.
    Exited {
        id: u64,
        #[serde(flatten)]
        exit: ChildExit,
    },
    /// The child's whole tree has ended. The last event of an `id`.
    Gone { id: u64 },
    /// A child that another daemon started. Its pipes come from that daemon.
    Given { id: u64, pid: u32 },
}

#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SpawnFailure {
    NotFound,
    NotExecutable,
    BadCwd,
    Other,
}

/// A string of the operating system: a JSON string if it is UTF-8, otherwise an array of bytes.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(untagged)]
pub(super) enum OsText {
    Utf8(String),
    Bytes(Vec<u8>),
}

#[derive(Debug, Error)]
pub enum FrameError {
    #[error("a frame of {0} bytes exceeds the limit of {MAX_FRAME_BYTES}")]
    TooLong(usize),
    #[error("encode or decode the JSON of a frame")]
    Json(#[from] serde_json::Error),
}

/// Splits received bytes into frames.
#[derive(Debug, Default)]
pub struct FrameBuffer(VecDeque<u8>);

impl FrameBuffer {
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// Returns true if the buffer must contain a whole frame. Take that frame out before you add more.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= 4 + MAX_FRAME_BYTES
    }

    /// The next complete frame, if one has arrived.
    pub fn next_message<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let Some(prefix) = self.0.make_contiguous().first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*prefix) as usize;
        if length > MAX_FRAME_BYTES {
            return Err(FrameError::TooLong(length));
        }
        let Some(body) = self.0.make_contiguous().get(4..4 + length) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(body)?;
        self.0.drain(..4 + length);
        Ok(Some(message))
    }
}

/// A frame on its way to the other end, with the descriptors that go with its first byte.
pub struct OutgoingFrame {
    bytes: Vec<u8>,
    sent: usize,
    fds: Vec<OwnedFd>,
}

impl OutgoingFrame {
    pub fn new(message: &impl Serialize, fds: Vec<OwnedFd>) -> Result<Self, FrameError> {
        Ok(Self {
            bytes: encode_frame(message)?,
            sent: 0,
            fds,
        })
    }

    /// Sends what the socket accepts now. Returns true when the whole frame is sent.
    pub fn send(&mut self, socket: impl AsFd) -> io::Result<bool> {
        self.sent += descriptor_passing::send(socket, &self.bytes[self.sent..], &self.fds)?;
        self.fds.clear();
        Ok(self.sent == self.bytes.len())
    }
}

fn encode_frame(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    let prefix = u32::try_from(length)
        .ok()
        .filter(|_| length <= MAX_FRAME_BYTES);
    let prefix = prefix.ok_or(FrameError::TooLong(length))?;
    frame[..4].copy_from_slice(&prefix.to_le_bytes());
    Ok(frame)
}

impl SpawnRequest {
    pub(super) fn new(id: u64, spec: SpawnSpec) -> Self {
        SpawnRequest {
            id,
            program: spec.program.into_os_string().into(),
            args: spec.args.into_iter().map(OsText::from).collect(),
            env: spec
                .env
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            cwd: spec.cwd.into_os_string().into(),
            tag: spec.tag,
            limits: spec.limits,
        }
    }
}

impl From<OsString> for OsText {
    fn from(text: OsString) -> Self {
        match text.into_string() {
            Ok(text) => OsText::Utf8(text),
            Err(text) => OsText::Bytes(text.into_vec()),
        }
    }
}

impl From<OsText> for OsString {
    fn from(text: OsText) -> Self {
        match text {
            OsText::Utf8(text) => text.into(),
            OsText::Bytes(bytes) => OsString::from_vec(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_parsed_wherever_the_stream_is_split() {
        let mut bytes = encode_frame(&KeeperEvent::Hello { wire: 2, base: 0 }).unwrap();
        bytes.extend(encode_frame(&KeeperEvent::Gone { id: 7 }).unwrap());
        for cut in 0..bytes.len() {
            let mut inbox = FrameBuffer::default();
            let mut seen = Vec::new();
            for part in [&bytes[..cut], &bytes[cut..]] {
                inbox.push(part);
                while let Some(event) = inbox.next_message::<KeeperEvent>().unwrap() {
                    seen.push(format!("{event:?}"));
                }
            }
            assert_eq!(
                seen,
                ["Hello { wire: 2, base: 0 }", "Gone { id: 7 }"],
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn spawn_request_has_the_fields_of_its_version() {
        let spec = SpawnSpec {
            program: "/bin/true".into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: "/".into(),
            tag: String::new(),
            limits: TreeLimits::default(),
        };
        let request = serde_json::to_value(SpawnRequest::new(1, spec)).unwrap();
        let mut fields: Vec<&String> = request.as_object().unwrap().keys().collect();
        fields.sort();
        // A keeper of an earlier version ignores a new field: it needs a new version.
        assert_eq!(
            (KEEPER_PROTOCOL_VERSION, format!("{fields:?}").as_str()),
            (
                3,
                r#"["args", "cwd", "env", "id", "limits", "program", "tag"]"#
            )
        );
    }

    #[test]
    fn os_text_round_trips_every_byte() {
        for bytes in [&b"plain"[..], b"gr\xc3\xbcn", b"\xff\x00\xfe", b""] {
            let text = OsText::from(OsString::from_vec(bytes.to_vec()));
            let json = serde_json::to_string(&text).unwrap();
            let back: OsText = serde_json::from_str(&json).unwrap();
            assert_eq!(OsString::from(back).into_vec(), bytes, "{json}");
        }
    }

    #[test]
    fn frame_above_the_limit_is_rejected_by_sender_and_receiver() {
        let long = "x".repeat(MAX_FRAME_BYTES);
        assert!(matches!(encode_frame(&long), Err(FrameError::TooLong(_))));
        let mut inbox = FrameBuffer::default();
        let over = u32::try_from(MAX_FRAME_BYTES + 1).unwrap();
        inbox.push(&over.to_le_bytes());
        assert!(matches!(
            inbox.next_message::<KeeperEvent>(),
            Err(FrameError::TooLong(_))
        ));
    }
}
