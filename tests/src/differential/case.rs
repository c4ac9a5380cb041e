//! One MCP server as data: its answers, the bytes around them, and its habits.
//!
//! Invariant: a case has a value for each client alike. Only the URL tells the clients apart.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where the handwritten cases are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/differential");

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The name of its file without the extension, or the name of the mutation.
    #[serde(default)]
    pub(super) name: String,
    /// The required behavior of a client, in words.
    pub(super) expected: String,
    /// The server is tried over each of these.
    pub(super) transports: Vec<Transport>,
    /// The revision that the server always names. If absent, the server accepts the client's revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revision: Option<String>,
    /// The messages that answer a request, in order, by method. `METHOD?next` answers requests with a cursor. `$id` is
    /// the id of the request, `$version` the revision. Methods that are not here get a valid answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) answers: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) framing: Vec<Framing>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) habits: Vec<Habit>,
    /// The minimum that muxd must reach, regardless of the SDKs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at_least: Option<Minimum>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Transport {
    Stdio,
    /// Streamable HTTP with one JSON document per answer.
    Json,
    /// Streamable HTTP with an event stream per answer.
    EventStream,
    /// HTTP+SSE of revision 2024-11-05.
    Sse,
}

/// Unusual bytes around each message.
#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    PartialEq,
    Serialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Framing {
    ByteOrderMark,
    /// Messages after `initialize` are elements of an array.
    Array,
    LeadingSpaces,
    /// Lines end in CR LF.
    Crlf,
    /// Empty lines between messages.
    BlankLines,
    /// A line of a log before each message.
    LogLine,
    /// An event named `ping` with an empty object before each message.
    PingEvent,
    /// An event named `message` with empty data before each message.
    EmptyEvent,
    /// A comment before each message.
    Comment,
    /// Events have no name.
    UnnamedEvent,
    /// Events are named `Message`.
    OtherEventCase,
    /// Events have ids and a time for retries.
    EventIds,
    /// No space after `data:`.
    NoSpace,
    /// The stream ends without the empty line that ends an event.
    NoBlankLine,
    /// The body arrives in pieces of a few bytes.
    SmallPieces,
    /// The body is compressed without being asked for.
    Gzip,
    /// The media type is in upper case.
    MediaTypeCase,
    /// The media type has parameters.
    MediaTypeParameters,
    /// The status is 201 instead of 200.
    StatusCreated,
    /// Notifications are answered with 204 instead of 202.
    StatusNoContent,
    /// Notifications are answered with 200 and the text `ok`.
    StatusOkText,
}

/// Unusual behavior that answers alone cannot express.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Habit {
    /// Answers `initialize` with an error if the offered revision is not one of 2024-11-05 to 2025-11-25.
    RefusesUnknownRevision,
    /// As above, and the error names the supported revisions.
    NamesSupportedRevisions,
    /// Refuses every message if the first one was not `initialize`.
    InitializeFirst,
    /// Issues session ids, and requires them.
    Sessions,
    /// Forgets the first session of a client at its first call, and says so with this status or error.
    #[serde(rename = "loses-session-400")]
    LosesSession400,
    #[serde(rename = "loses-session-404")]
    LosesSession404,
    #[serde(rename = "loses-session-410")]
    LosesSession410,
    #[serde(rename = "loses-session-200")]
    LosesSession200,
    /// Answers GET with 401.
    GetUnauthorized,
    /// The endpoint of HTTP+SSE answers 404.
    EndpointNotFound,
    /// `initialize` takes two seconds.
    SlowInitialize,
}

/// The least that muxd must reach.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Minimum {
    pub(super) tools: Vec<String>,
    /// The texts of the content blocks.
    pub(super) text: Option<Vec<String>>,
    pub(super) structured: Option<Value>,
    /// A part of the error.
    pub(super) error: Option<String>,
}

/// One case over one transport: what clients are compared on.
#[derive(Clone, Debug)]
pub struct Subject {
    pub(super) case: Case,
    pub(super) transport: Transport,
}

impl Subject {
    /// Unique among all subjects, and a part of URLs.
    pub fn name(&self) -> String {
        format!("{}@{}", self.case.name, self.transport.as_str())
    }
}

impl Transport {
    pub(super) fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns true if several messages can answer one request without an array.
    pub(super) fn is_stream(self) -> bool {
        self != Self::Json
    }
}

impl Framing {
    /// Returns true if this makes a difference over a transport.
    pub(super) fn applies_to(self, transport: Transport) -> bool {
        let is_http_answer = matches!(transport, Transport::Json | Transport::EventStream);
        match self {
            Self::ByteOrderMark | Self::Array | Self::LeadingSpaces => true,
            Self::Crlf | Self::BlankLines => transport != Transport::Json,
            Self::LogLine => transport == Transport::Stdio,
            Self::PingEvent
            | Self::EmptyEvent
            | Self::Comment
            | Self::UnnamedEvent
            | Self::OtherEventCase
            | Self::EventIds
            | Self::NoSpace => matches!(transport, Transport::EventStream | Transport::Sse),
            Self::NoBlankLine => transport == Transport::EventStream,
            Self::SmallPieces => transport != Transport::Sse,
            Self::Gzip | Self::StatusCreated | Self::StatusNoContent | Self::StatusOkText => {
                is_http_answer
            }
            Self::MediaTypeCase | Self::MediaTypeParameters => transport != Transport::Stdio,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The handwritten cases, over each of their transports.
pub fn handwritten() -> Vec<Subject> {
    let mut files: Vec<_> = fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "toml"))
        .collect();
    files.sort();
    files.iter().flat_map(|file| subjects(file)).collect()
}

fn subjects(file: &Path) -> Vec<Subject> {
    let text = fs::read_to_string(file).unwrap();
    let mut case: Case = toml::from_str(&text).unwrap_or_else(|e| panic!("{file:?}: {e}"));
    file.file_stem()
        .unwrap()
        .to_str()
        .unwrap()
        .clone_into(&mut case.name);
    let transports = case.transports.clone();
    let over = |transport| Subject {
        case: case.clone(),
        transport,
    };
    transports.into_iter().map(over).collect()
}
