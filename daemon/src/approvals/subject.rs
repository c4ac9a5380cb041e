//! What somebody is asked about, and for how much an answer is good.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::{
    cache::Key,
    catalog::{
        Digest,
        hygiene::{clean, is_unseen},
    },
    notices::{Caller, Cause, Origin, Request},
    pins,
};

/// What of a call's arguments a person is shown beside other things, in bytes.
const SHOWN: usize = 1_000;

/// A call that must be approved. What is approved of it is what is sent.
#[derive(Clone, Debug)]
pub struct Subject {
    /// `server.tool`
    pub path: String,
    pub cover: Cover,
    /// JSON text, as it is sent.
    pub arguments: Arc<str>,
    /// Names them, in whatever order their names stand.
    pub same: Key,
    /// Because of which somebody is asked.
    pub rule: String,
    pub reason: Option<String>,
    pub origin: Arc<Origin>,
}

/// What makes a call one of those for which somebody has answered: its tool as it is, of a server that is reached
/// as it is, and the rule that wants it to be asked.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Cover(Key);

impl Cover {
    /// `definition` names how the server is reached; `tool` is all that is known of the tool.
    pub fn new(path: &str, definition: &str, tool: &Value, rule: &str) -> Self {
        let digest = Digest::new().text(path).text(definition).text(rule);
        Self(digest.bytes(&pins::canonical_digest(tool)).key())
    }

    pub(super) fn hex(self) -> String {
        blake3::Hash::from(self.0).to_hex().to_string()
    }

    pub(super) fn of_hex(text: &str) -> Option<Self> {
        Some(Self(blake3::Hash::from_hex(text).ok()?.into()))
    }
}

impl Subject {
    pub fn new(
        path: String,
        cover: Cover,
        arguments: &Value,
        (rule, reason): (String, Option<String>),
        origin: Arc<Origin>,
    ) -> Self {
        Self {
            path,
            cover,
            same: pins::canonical_digest(arguments),
            arguments: arguments.to_string().into(),
            rule,
            reason,
            origin,
        }
    }

    /// Whether an answer to one is an answer to the other.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.path == other.path && self.cover == other.cover && self.same == other.same
    }

    /// Arguments for the eye: all of them or the beginning, with what nobody sees spelled out.
    pub fn shown(&self) -> String {
        beginning(&self.arguments, SHOWN)
    }

    pub fn request(&self, approval: String, wait: Duration) -> Request {
        Request {
            approval,
            path: clean(&self.path).into_owned(),
            arguments: self.shown(),
            bytes: self.arguments.len(),
            rule: self.rule.clone(),
            reason: self.reason.clone(),
            wait,
        }
    }
}

/// At most so many bytes of a text.
pub(crate) fn beginning(text: &str, most: usize) -> String {
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
pub enum Owner {
    Run(String),
    /// A call outside of runs, by the number of its approval.
    Call(u64),
}

impl Owner {
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
pub enum Session {
    Connection(u64),
    /// One that nobody's connection ends.
    Run(String),
}

impl Session {
    pub fn of(caller: &Caller) -> Option<Self> {
        match (caller.connection(), &caller.cause) {
            (Some(connection), _) => Some(Self::Connection(connection)),
            (None, Cause::Run(run)) => Some(Self::Run(run.clone())),
            (None, Cause::Call(_)) => None,
        }
    }
}

/// A user's word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    Once,
    Session,
    Always,
    Deny,
}

/// What a call hears of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    Approved,
    Denied { reason: Option<String> },
}

/// How far it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum State {
    /// Its program waits.
    Waiting,
    /// Its program was told that nobody answered.
    Pending,
    /// Answered since, and not used yet.
    Answered(Verdict),
}

/// One of them as it is at one moment.
#[derive(Clone, Debug)]
pub struct View {
    pub number: u64,
    pub subject: Arc<Subject>,
    pub owner: Owner,
    pub state: State,
    pub since: SystemTime,
}

impl View {
    pub fn id(&self) -> String {
        id_of(self.number)
    }
}

pub(super) fn id_of(number: u64) -> String {
    format!("A{number}")
}

/// `A7`, `a7` or `7`.
pub(super) fn number_of(id: &str) -> Option<u64> {
    let digits = id.strip_prefix(['A', 'a']).unwrap_or(id);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}
