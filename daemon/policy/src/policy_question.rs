//! The question that policy is asked, and its answer.

use std::{path::Path, sync::Arc};

use serde_json::Value;

use super::{Rule, RuleAction};
use mux_typegen::names::tool_paths;

/// A call that policy decides on.
#[derive(Clone, Copy, Debug)]
pub struct PolicyQuestion<'a> {
    /// `server.tool`, with the server's own tool name, or `server.method` for methods other than tool calls.
    pub path: &'a str,
    /// The server sends this request to its client: see [`SERVER_REQUESTS`]. Not a call, although a tool may have the
    /// same name.
    pub from_server: bool,
    /// The path as programs write it, if it differs from this one and means only this tool. Rules of every action
    /// match it.
    pub program_path: Option<&'a str>,
    /// Other spellings of the path, see [`spellings`].
    pub spellings: &'a [String],
    pub hints: ToolHints,
    /// The HTTP method, if the tool is an API operation.
    pub verb: Option<&'a str>,
    /// The agent's name, from `--agent`.
    pub agent: Option<&'a str>,
    /// The client's self-reported name.
    pub client: &'a str,
    pub workspace: Option<&'a Path>,
    pub given: GivenArguments<'a>,
    /// Further arguments that the call amounts to, such as the members of an object that are sent like separate
    /// arguments. These also meet deny and ask rules.
    pub also_given: &'a [Value],
}

/// The MCP method by which a server uses its client's model.
const SAMPLING_METHOD: &str = "sampling/createMessage";

/// The MCP methods that a server may send to its client during a call.
pub const SERVER_REQUESTS: &[&str] = &["elicitation/create", SAMPLING_METHOD, "roots/list"];

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub enum GivenArguments<'a> {
    /// Not parsed yet.
    Unread,
    /// Not a JSON object, so they will never be sent.
    Unreadable,
    Values(&'a Value),
}

/// The annotations that a tool declares about itself.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ToolHints {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

/// The verdict on a call.
#[derive(Clone, Debug)]
pub struct PolicyVerdict {
    pub action: RuleAction,
    /// The deciding rule. `None` means the default: allowed, except that destructive tools need approval where a user
    /// can answer, and sampling is denied.
    pub rule: Option<Arc<Rule>>,
}

/// A verdict, or the reason why there is none yet.
#[derive(Clone, Debug)]
pub enum PolicyDecision {
    Made(PolicyVerdict),
    /// A rule has conditions on the arguments, which have not been parsed.
    NeedsArguments,
    /// Evaluating the arguments took longer than [`DECISION_TIMEOUT`](super::DECISION_TIMEOUT).
    TimedOut,
}

impl PolicyQuestion<'_> {
    pub fn server(&self) -> &str {
        self.path
            .split_once('.')
            .map_or(self.path, |(server, _)| server)
    }

    /// Returns true if the server asks to use its client's model.
    pub(super) fn is_sampling(&self) -> bool {
        let method = self.path.split_once('.').map(|(_, method)| method);
        self.from_server && method == Some(SAMPLING_METHOD)
    }

    /// Returns true if a rule with this glob can match the path. Tool globs are wide and were not written for server
    /// requests: to match one, a glob must name the method, as in `*.sampling/createMessage` or `docs.elicitation/*`.
    pub(super) fn is_named_by(&self, glob: &str) -> bool {
        let method = self.path.split_once('.').map_or("", |(_, method)| method);
        let group = method.split_inclusive('/').next().unwrap_or_default();
        !self.from_server || glob.contains(group)
    }
}

impl ToolHints {
    /// The hints of an irreversible operation.
    pub const DESTRUCTIVE: Self = Self {
        read_only: Some(false),
        destructive: Some(true),
        idempotent: Some(false),
        open_world: None,
    };

    /// Reads the hints from MCP tool annotations.
    pub fn of_annotations(annotations: &Value) -> Self {
        let hint = |name: &str| annotations.get(name)?.as_bool();
        Self {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }

    /// Returns true if the tool declares itself read-only. Without the hint, the tool may change something.
    pub(super) fn is_read_only(self) -> bool {
        self.read_only == Some(true)
    }

    pub(super) fn is_idempotent(self) -> bool {
        self.idempotent == Some(true)
    }

    /// The tool's destructive hint, or `None` if it has none. MCP's default is `true`, which would apply to nearly
    /// every tool.
    pub(super) fn is_destructive(self) -> Option<bool> {
        self.destructive.or(self.is_read_only().then_some(false))
    }
}

impl PolicyVerdict {
    /// Returns true if no rule applied.
    pub fn is_default(&self) -> bool {
        self.rule.is_none()
    }

    /// The deciding rule's `reason`.
    pub fn reason(&self) -> Option<&str> {
        self.rule.as_ref()?.reason()
    }
}

/// The other spellings of a tool's path: as programs write it, as they used to write it, and without invisible
/// characters. Deny and ask rules match all of them: neither a typo nor a malicious name can bypass a rule. Allow
/// rules match only the path itself and [`PolicyQuestion::program_path`].
pub fn spellings(server: &str, name: &str, shown: &str) -> Vec<String> {
    let mut others = tool_paths(server, name);
    if shown != name {
        others.extend(tool_paths(server, shown));
    }
    let own = format!("{server}.{name}");
    others.retain(|path| *path != own);
    others
}
