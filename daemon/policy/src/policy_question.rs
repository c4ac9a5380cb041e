//! What policy is asked, and what it answers.

use std::{path::Path, sync::Arc};

use serde_json::Value;

use super::Rule;
use mux_typegen::names::tool_paths;

/// One call that somebody is about to make.
#[derive(Clone, Copy, Debug)]
pub struct PolicyQuestion<'a> {
    /// `server.tool`, with the tool as its server spells it; `server.method` of what is no tool.
    pub path: &'a str,
    /// The server sends this request to its client: see [`SERVER_REQUESTS`]. It is no call, although a tool may have
    /// the same name.
    pub from_server: bool,
    /// Other spellings of it, see [`spellings`].
    pub spellings: &'a [String],
    pub hints: ToolHints,
    /// The HTTP method, if it is an operation of an API.
    pub verb: Option<&'a str>,
    /// As `--agent` has it.
    pub agent: Option<&'a str>,
    /// As the client calls itself.
    pub client: &'a str,
    pub workspace: Option<&'a Path>,
    pub given: GivenArguments<'a>,
}

/// MCP's method by which a server has its client's model write something.
const SAMPLING_METHOD: &str = "sampling/createMessage";

/// What a server may ask of its client while it works on a call of it, by the names of MCP.
pub const SERVER_REQUESTS: &[&str] = &["elicitation/create", SAMPLING_METHOD, "roots/list"];

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub enum GivenArguments<'a> {
    /// Nobody has read them yet.
    Unread,
    /// They are no object, so that they will never be sent.
    Unreadable,
    Values(&'a Value),
}

/// What a tool says of itself, where it says anything.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ToolHints {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RuleAction {
    Allow,
    Ask,
    Deny,
}

/// What policy says of a call.
#[derive(Clone, Debug)]
pub struct PolicyVerdict {
    pub action: RuleAction,
    /// The rule that decided. Without one it is the default: allowed, asked for what calls itself destructive where
    /// somebody can answer, and denied where a server wants to use its client's model.
    pub rule: Option<Arc<Rule>>,
}

/// A verdict, or the need for more.
#[derive(Clone, Debug)]
pub enum PolicyDecision {
    Made(PolicyVerdict),
    /// A rule looks at the arguments, which have not been read.
    NeedsArguments,
    /// The rules were not through with the arguments within [`DECISION_TIMEOUT`](super::DECISION_TIMEOUT).
    TimedOut,
}

impl PolicyQuestion<'_> {
    pub fn server(&self) -> &str {
        self.path
            .split_once('.')
            .map_or(self.path, |(server, _)| server)
    }

    /// The server wants to use the model of its client.
    pub(super) fn is_sampling(&self) -> bool {
        let method = self.path.split_once('.').map(|(_, method)| method);
        self.from_server && method == Some(SAMPLING_METHOD)
    }

    /// Whether a rule with this glob can be about the path. Rules for tools have wide globs, and were not written for
    /// what a server asks: of that a glob has to name the method, as in `*.sampling/createMessage` or
    /// `docs.elicitation/*`.
    pub(super) fn is_named_by(&self, glob: &str) -> bool {
        let method = self.path.split_once('.').map_or("", |(_, method)| method);
        let group = method.split_inclusive('/').next().unwrap_or_default();
        !self.from_server || glob.contains(group)
    }
}

impl ToolHints {
    /// Of what cannot be undone.
    pub const DESTRUCTIVE: Self = Self {
        read_only: Some(false),
        destructive: Some(true),
        idempotent: Some(false),
        open_world: None,
    };

    /// Of annotations as MCP has them.
    pub fn of_annotations(annotations: &Value) -> Self {
        let hint = |name: &str| annotations.get(name)?.as_bool();
        Self {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }

    /// A tool that says nothing may change something.
    pub(super) fn is_read_only(self) -> bool {
        self.read_only == Some(true)
    }

    pub(super) fn is_idempotent(self) -> bool {
        self.idempotent == Some(true)
    }

    /// `None`: it does not say. MCP would have it destructive then, as nearly every tool.
    pub(super) fn is_destructive(self) -> Option<bool> {
        self.destructive.or(self.is_read_only().then_some(false))
    }
}

impl PolicyVerdict {
    /// Nobody has said anything of such a call.
    pub fn is_default(&self) -> bool {
        self.rule.is_none()
    }

    /// What the user wants to be told with it.
    pub fn reason(&self) -> Option<&str> {
        self.rule.as_ref()?.reason()
    }
}

impl RuleAction {
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// How else a path may be written: as programs do, as they did, and without what nobody sees. A rule that denies or asks
/// is about each of them, so that neither a slip nor a server's trick goes around it; one that allows only about the
/// path itself.
pub fn spellings(server: &str, name: &str, shown: &str) -> Vec<String> {
    let mut others = tool_paths(server, name);
    if shown != name {
        others.extend(tool_paths(server, shown));
    }
    let own = format!("{server}.{name}");
    others.retain(|path| *path != own);
    others
}
