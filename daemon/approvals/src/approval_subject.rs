//! The subject of a request for approval, and the cover of an answer to it.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use mux_caller::{ApprovalRequest, CallCause, Caller, ClientOrigin, RunAccess};
pub use mux_messages::Decision as UserDecision;
use mux_messages::millis;
use mux_text::{
    canonical_json,
    digest::{Digest, DigestKey},
    sanitize::{is_unseen, push_visible},
};

/// The maximum size of a call's arguments in a request for approval, in bytes.
const MAX_SHOWN_ARGUMENT_BYTES: usize = 1_000;
/// The maximum size of a call's path in a request for approval, in bytes.
const MAX_SHOWN_PATH_BYTES: usize = 200;

/// A call that must be approved. Exactly the approved call is sent.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ApprovalSubject {
    /// `server.tool`
    pub path: String,
    pub cover: ApprovalCover,
    /// The JSON to send.
    pub arguments: Arc<str>,
    /// A digest of the arguments, independent of the order of object members.
    pub same: DigestKey,
    /// The rule that requires approval.
    pub rule: String,
    pub reason: Option<String>,
    /// Stored with the run.
    #[serde(skip)]
    pub origin: Arc<ClientOrigin>,
    /// Set if the caller wants the raw result.
    pub is_raw: bool,
    /// Set for a read of a resource or a prompt instead of a tool call.
    pub is_offer: bool,
    /// Set for a request from the server to the client instead of a call. No program can repeat such a request, so it
    /// ends if it is not answered.
    #[serde(skip)]
    pub is_server_request: bool,
}

/// The cover of an answer: one tool with its definition, of a server with its entry, under the rule that requires
/// approval. A call is covered if all of these are the same.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct ApprovalCover(DigestKey);

impl ApprovalCover {
    /// `definition` identifies the server's entry, `tool` is the whole definition of the tool, and `rule` identifies
    /// one rule (not its display text, which two rules may share).
    pub fn new(path: &str, definition: &str, tool: &Value, rule: &str) -> Self {
        let digest = Digest::new().text(path).text(definition).text(rule);
        Self(digest.bytes(&canonical_json::digest(tool)).key())
    }

    pub fn hex(self) -> String {
        blake3::Hash::from(self.0).to_hex().to_string()
    }
}

impl From<blake3::Hash> for ApprovalCover {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash.into())
    }
}

impl ApprovalSubject {
    pub fn new(
        path: String,
        cover: ApprovalCover,
        arguments: &Value,
        (rule, reason): (String, Option<String>),
        origin: Arc<ClientOrigin>,
    ) -> Self {
        Self {
            path,
            cover,
            same: canonical_json::digest(arguments),
            arguments: arguments.to_string().into(),
            rule,
            reason,
            origin,
            is_raw: false,
            is_offer: false,
            is_server_request: false,
        }
    }

    #[must_use]
    pub fn of_server_request(mut self) -> Self {
        self.is_server_request = true;
        self
    }

    #[must_use]
    pub fn of_offer(mut self) -> Self {
        self.is_offer = true;
        self
    }

    /// True if an answer to one of them answers the other.
    pub(super) fn is_same_call(&self, other: &Self) -> bool {
        self.path == other.path && self.cover == other.cover && self.same == other.same
    }

    /// The arguments for display: all of them or the beginning, with invisible characters escaped.
    pub fn shown_arguments(&self) -> String {
        visible_prefix(&self.arguments, MAX_SHOWN_ARGUMENT_BYTES)
    }

    pub fn request(&self, approval: String, wait: Duration) -> ApprovalRequest {
        ApprovalRequest {
            approval,
            path: quoted_path(&self.path).into_owned(),
            arguments: self.shown_arguments(),
            bytes: self.arguments.len(),
            rule: self.rule.clone(),
            reason: self.reason.clone(),
            cover: self.cover.hex(),
            wait_ms: millis(wait),
        }
    }
}

/// A path for display on one line, quoted unless it is plain. Servers choose the names of their tools, and a name must
/// not be able to imitate a question from muxd.
pub(crate) fn quoted_path(path: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-/:@".contains(letter);
    if path.len() <= MAX_SHOWN_PATH_BYTES
        && path
            .chars()
            .all(|letter| is_plain(letter) && !is_unseen(letter))
    {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(visible_prefix(
            &Value::from(path).to_string(),
            MAX_SHOWN_PATH_BYTES,
        ))
    }
}

/// The first `most` bytes of a text, with invisible characters escaped.
pub fn visible_prefix(text: &str, most: usize) -> String {
    let cut = text.floor_char_boundary(most);
    let mut shown = String::with_capacity(cut);
    push_visible(&mut shown, &text[..cut]);
    if cut < text.len() {
        shown.push('…');
    }
    shown
}

/// The owner of approvals that are saved together and end together.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ApprovalOwner {
    Run(String),
    /// A call outside runs, by the number of its approval.
    Call(u64),
}

impl ApprovalOwner {
    /// The owner's name in the history.
    pub fn stem(&self) -> String {
        match self {
            Self::Run(run) => run.clone(),
            Self::Call(number) => format!("call-{number}"),
        }
    }

    pub(super) fn of_stem(stem: &str) -> Self {
        let number = stem
            .strip_prefix("call-")
            .and_then(|number| number.parse().ok());
        number.map_or_else(|| Self::Run(stem.to_owned()), Self::Call)
    }

    pub fn run(&self) -> Option<&str> {
        match self {
            Self::Run(run) => Some(run),
            Self::Call(_) => None,
        }
    }
}

/// The session to which a grant "for this session" applies.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum GrantSession {
    Connection(u64),
    /// A run that does not end with a connection.
    Run(String),
}

impl GrantSession {
    pub fn of(caller: &Caller) -> Option<Self> {
        match (caller.connection(), &caller.cause) {
            (Some(connection), _) => Some(Self::Connection(connection)),
            (None, CallCause::Run(run)) => Some(Self::Run(run.clone())),
            (None, CallCause::Call(_)) => None,
        }
    }
}

/// A user's answer to one approval.
#[derive(Clone, Debug, Deserialize)]
pub struct UserAnswer {
    pub decision: UserDecision,
    /// The reason that the program gets if the call is denied.
    pub reason: Option<String>,
    /// IDs of other approvals that were shown to the user with it. No others are answered.
    #[serde(default)]
    pub shown: Vec<String>,
}

impl From<UserDecision> for UserAnswer {
    fn from(decision: UserDecision) -> Self {
        Self {
            decision,
            reason: None,
            shown: Vec::new(),
        }
    }
}

/// The result of an answer for the held call.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalVerdict {
    Approved,
    Denied { reason: Option<String> },
}

/// The state of an approval.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AnswerStatus {
    /// The program waits.
    Waiting,
    /// The program got the error `pending`.
    Pending,
    /// Answered, but the answer has not been used yet.
    Answered(ApprovalVerdict),
}

/// An approval at one moment.
#[derive(Clone, Debug)]
pub struct ApprovalSnapshot {
    pub number: u64,
    /// Random.
    pub token: Arc<str>,
    pub subject: Arc<ApprovalSubject>,
    pub owner: ApprovalOwner,
    pub state: AnswerStatus,
    pub since: SystemTime,
}

impl ApprovalSnapshot {
    /// The ID that the user types.
    pub fn id(&self) -> String {
        approval_id(self.number)
    }

    /// The ID with its token, for clients that must not be able to guess IDs.
    pub fn token_id(&self) -> String {
        format!("{}.{}", self.id(), self.token)
    }

    /// The ID to resume: the ID of its run, or its own for a call outside runs. Neither can be guessed.
    pub fn resume_id(&self) -> String {
        self.owner
            .run()
            .map_or_else(|| self.token_id(), str::to_owned)
    }

    /// True if this ID refers to the approval, for a client with this access.
    pub(super) fn matches_id(&self, id: &ApprovalId<'_>, access: &RunAccess) -> bool {
        let is_named = match id.token {
            Some(token) => *self.token == *token,
            None => access.is_user(),
        };
        is_named && self.number == id.number && access.allows(&self.subject.origin)
    }
}

/// The ID of an approval, as passed by a client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ApprovalId<'a> {
    pub(super) number: u64,
    token: Option<&'a str>,
}

impl<'a> ApprovalId<'a> {
    /// Parses `A7`, `a7` or `7`, optionally followed by a dot and the token.
    pub(super) fn parse(id: &'a str) -> Option<Self> {
        let (name, token) = match id.split_once('.') {
            Some((name, token)) => (name, Some(token)),
            None => (id, None),
        };
        let digits = name.strip_prefix(['A', 'a']).unwrap_or(name);
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_plain.then(|| digits.parse().ok()).flatten()?;
        Some(Self { number, token })
    }
}

pub(super) fn approval_id(number: u64) -> String {
    format!("A{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_with_special_characters_is_quoted_on_one_line() {
        for (path, shown) in [
            ("github.repos.list-all", "github.repos.list-all"),
            ("fix.resources/read", "fix.resources/read"),
            ("fix.größe", "fix.größe"),
            (
                "fix.a\nMay files.read be called?",
                r#""fix.a\nMay files.read be called?""#,
            ),
            ("fix.a {\"x\":1}", r#""fix.a {\"x\":1}""#),
            ("fix.a\u{202e}b", r#""fix.a\u202eb""#),
            ("fix.a\u{2028}b", r#""fix.a\u2028b""#),
        ] {
            assert_eq!(quoted_path(path), shown);
        }
        let long = quoted_path(&format!("fix.{}", "x".repeat(500))).into_owned();
        assert!(long.len() < 210 && long.ends_with('…'), "{long}");
    }
}
