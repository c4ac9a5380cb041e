//! What somebody is asked about, and for how much an answer is good.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::Value;

use mux_caller::{ApprovalRequest, CallCause, Caller, ClientOrigin, RunAccess};
use mux_text::{
    canonical_json,
    digest::{Digest, DigestKey},
    sanitize::is_unseen,
};

/// What of a call's arguments a person is shown beside other things, in bytes.
const MAX_SHOWN_ARGUMENT_BYTES: usize = 1_000;
/// The same of its path.
const MAX_SHOWN_PATH_BYTES: usize = 200;

/// A call that must be approved. What is approved of it is what is sent.
#[derive(Clone, Debug)]
pub struct ApprovalSubject {
    /// `server.tool`
    pub path: String,
    pub cover: ApprovalCover,
    /// JSON text, as it is sent.
    pub arguments: Arc<str>,
    /// Names them, in whatever order their names stand.
    pub same: DigestKey,
    /// Because of which somebody is asked.
    pub rule: String,
    pub reason: Option<String>,
    pub origin: Arc<ClientOrigin>,
    /// It is no tool: a resource to be read, or a prompt.
    pub is_offer: bool,
    /// It is no call: its server wants to ask this of the client. There is no program that asks it again, so it ends
    /// when nobody answers.
    pub is_server_request: bool,
}

/// What makes a call one of those for which somebody has answered: its tool as it is, of a server whose entry is as it
/// is, and the rule that wants it to be asked, with all that it says.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ApprovalCover(DigestKey);

impl ApprovalCover {
    /// `definition` names the server's entry; `tool` is all that is known of the tool; `rule` is no text for the eye,
    /// which two rules may share, but names one.
    pub fn new(path: &str, definition: &str, tool: &Value, rule: &str) -> Self {
        let digest = Digest::new().text(path).text(definition).text(rule);
        Self(digest.bytes(&canonical_json::digest(tool)).key())
    }

    pub fn hex(self) -> String {
        blake3::Hash::from(self.0).to_hex().to_string()
    }

    pub(super) fn of_hex(text: &str) -> Option<Self> {
        Some(Self(blake3::Hash::from_hex(text).ok()?.into()))
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
            is_offer: false,
            is_server_request: false,
        }
    }

    pub fn of_server_request(mut self) -> Self {
        self.is_server_request = true;
        self
    }

    pub fn of_offer(mut self) -> Self {
        self.is_offer = true;
        self
    }

    /// The program that makes such a call once more; its input are the arguments.
    pub(super) fn program(&self, raw: bool) -> String {
        if self.is_offer
            && let Some((server, method)) = self.path.split_once('.')
        {
            let server = Value::from(server);
            return match method {
                "prompts/get" => format!(
                    "return await mux.prompts[{server}].get(mux.input.name, mux.input.arguments)"
                ),
                _ => format!("return await mux.resources[{server}].read(mux.input.uri)"),
            };
        }
        let way = match raw {
            true => "mux.call.raw",
            false => "mux.call",
        };
        format!(
            "return await {way}({}, mux.input)",
            Value::from(self.path.as_str())
        )
    }

    /// Whether an answer to one is an answer to the other.
    pub(super) fn is_same_call(&self, other: &Self) -> bool {
        self.path == other.path && self.cover == other.cover && self.same == other.same
    }

    /// Arguments for the eye: all of them or the beginning, with what nobody sees spelled out.
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
            from_server: self.is_server_request,
            wait,
        }
    }
}

/// A path on one line, as a word that cannot be taken for anything else: a server names its tools, and could name one so
/// that it writes a question of its own above the real one.
pub(crate) fn quoted_path(path: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-/:@".contains(letter);
    match path.len() <= MAX_SHOWN_PATH_BYTES
        && path
            .chars()
            .all(|letter| is_plain(letter) && !is_unseen(letter))
    {
        true => Cow::Borrowed(path),
        false => Cow::Owned(visible_prefix(
            &Value::from(path).to_string(),
            MAX_SHOWN_PATH_BYTES,
        )),
    }
}

/// At most so many bytes of a text.
pub fn visible_prefix(text: &str, most: usize) -> String {
    let cut = text.floor_char_boundary(most);
    let mut shown = String::with_capacity(cut);
    for letter in text[..cut].chars() {
        if is_unseen(letter) {
            // As JSON has it: what nobody sees is sent, too.
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(letter);
        }
    }
    if cut < text.len() {
        shown.push('…');
    }
    shown
}

/// Whose calls they are: what keeps and what ends together.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ApprovalOwner {
    Run(String),
    /// A call outside of runs, by the number of its approval.
    Call(u64),
}

impl ApprovalOwner {
    /// A part of a file's name.
    pub(super) fn stem(&self) -> String {
        match self {
            Self::Run(run) => run.clone(),
            Self::Call(number) => format!("call-{number}"),
        }
    }

    pub fn run(&self) -> Option<&str> {
        match self {
            Self::Run(run) => Some(run),
            Self::Call(_) => None,
        }
    }
}

/// For how long `for this session` holds.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum GrantSession {
    Connection(u64),
    /// One that nobody's connection ends.
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
#[derive(Clone, Debug)]
pub struct UserAnswer {
    pub decision: UserDecision,
    /// For the program, if the call is denied.
    pub reason: Option<String>,
    /// Ids of other approvals that the user was shown with it. Nothing that is not named is answered.
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

/// A user's word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UserDecision {
    Once,
    Session,
    Always,
    Deny,
}

/// What a call hears of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ApprovalVerdict {
    Approved,
    Denied { reason: Option<String> },
}

/// How far it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AnswerStatus {
    /// Its program waits.
    Waiting,
    /// Its program was told that nobody answered.
    Pending,
    /// Answered since, and not used yet.
    Answered(ApprovalVerdict),
}

/// One of them as it is at one moment.
#[derive(Clone, Debug)]
pub struct ApprovalSnapshot {
    pub number: u64,
    /// Random. None of one that an earlier muxd has written down.
    pub token: Option<Arc<str>>,
    pub subject: Arc<ApprovalSubject>,
    pub owner: ApprovalOwner,
    pub state: AnswerStatus,
    pub since: SystemTime,
}

impl ApprovalSnapshot {
    /// What the user types.
    pub fn id(&self) -> String {
        approval_id(self.number)
    }

    /// What a client that may not count up numbers calls it.
    pub fn token_id(&self) -> String {
        match &self.token {
            Some(token) => format!("{}.{token}", self.id()),
            None => self.id(),
        }
    }

    /// What goes on with it: the id of its run, or its own if it is a call outside of runs. Nobody can guess either.
    pub fn resume_id(&self) -> String {
        self.owner
            .run()
            .map_or_else(|| self.token_id(), str::to_owned)
    }

    /// Whether a connection finds it under this id.
    pub(super) fn matches_id(&self, id: &ApprovalId<'_>, access: &RunAccess) -> bool {
        let is_named = match id.token {
            Some(token) => self.token.as_deref() == Some(token),
            None => access.is_user(),
        };
        is_named && self.number == id.number && access.allows(&self.subject.origin)
    }
}

/// What a client calls an approval.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ApprovalId<'a> {
    pub(super) number: u64,
    token: Option<&'a str>,
}

impl<'a> ApprovalId<'a> {
    /// `A7`, `a7` or `7`, and behind a dot the token.
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
    fn a_path_is_one_word_whatever_a_server_calls_its_tools() {
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
