//! The pin status of tools, and the messages about it.
//!
//! Invariant: a refused tool is described by its trusted definition or not at all: models never read text that the user
//! has not accepted.

use mux_wire::{Fault, FaultKind};
use serde_json::json;

use super::{
    Tool, ToolSet,
    injection_signs::listed_signs,
    server_warning::{
        ServerWarning,
        ServerWarningCode::{Instructions, Other, Repaired},
    },
};
use mux_text::digest::DigestKey;

/// The maximum number of names in a warning.
const MAX_NAMED_TOOLS: usize = 8;

/// How a tool compares with its pin.
#[derive(Clone, Debug, Default)]
pub enum PinStatus {
    /// The tool matches its pin, or pins are off.
    #[default]
    Trusted,
    /// The tool was added after its server was first trusted.
    New,
    /// The server writes sets of the trusted definition in another order. The trusted definition is offered.
    Reordered,
    Changed(Box<DefinitionChange>),
}

/// A definition that differs from the trusted one.
#[derive(Clone, Debug)]
pub struct DefinitionChange {
    /// The trusted definition as canonical text. `None` if it is lost.
    pub before: Option<Box<str>>,
    /// The MCP `Tool` as the server gives it now, as canonical text.
    pub now: Box<str>,
    /// The digest of the current definition.
    pub digest: DigestKey,
    pub reaction: ChangeReaction,
    /// There was no room for a pin, and the tool was never trusted.
    pub unpinned: bool,
    /// The user has accepted an earlier change of the tool.
    pub accepted_before: bool,
    /// The paths at which the two differ, in terms of the trusted definition.
    pub changed_paths: Vec<String>,
}

/// The handling of a tool whose definition has changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChangeReaction {
    /// Calls are refused until the user accepts the current definition.
    Refuse,
    /// The current definition is offered, as the user has configured.
    Offer,
    /// Only hints became stricter, or an output schema was added: the trusted definition with the current hints is
    /// offered.
    KeepTrusted,
}

impl PinStatus {
    /// Why the trusted definition is offered although the current one differs.
    pub fn note(&self) -> Option<&'static str> {
        match self {
            Self::Reordered => Some("its lists are in another order, which is not a change"),
            Self::Changed(change) if change.reaction == ChangeReaction::KeepTrusted => Some(
                "only stricter hints or an added output schema differ: its calls continue with the trusted definition",
            ),
            _ => None,
        }
    }
}

impl DefinitionChange {
    fn is_refused(&self) -> bool {
        self.reaction == ChangeReaction::Refuse
    }
}

impl Tool {
    pub fn change(&self) -> Option<&DefinitionChange> {
        match &self.pin_status {
            PinStatus::Changed(change) => Some(change),
            PinStatus::Trusted | PinStatus::New | PinStatus::Reordered => None,
        }
    }

    /// True if the user must decide about the difference between its definition and the trusted one.
    pub fn needs_decision(&self) -> bool {
        let keeps = |change: &DefinitionChange| change.reaction == ChangeReaction::KeepTrusted;
        self.change().is_some_and(|change| !keeps(change))
    }

    /// True if calls are refused until the user accepts the current definition.
    pub fn is_refused(&self) -> bool {
        self.change().is_some_and(DefinitionChange::is_refused)
    }

    /// Fails if the tool is refused. Must be called on the tool that is called. The error contains nothing of the
    /// current definition.
    pub fn check_standing(&self) -> Result<(), Fault> {
        let Some(change) = self.change().filter(|change| change.is_refused()) else {
            return Ok(());
        };
        let path = self.path();
        let message = match change.before {
            Some(_) => format!("{path} has changed since you first trusted it"),
            None if change.unpinned => {
                format!("{path} is not pinned: its server has more tools than can be pinned")
            }
            None => format!("the definition of {path} that you trusted is lost"),
        };
        let server = &self.server;
        let accept = format!(
            "`mux servers accept {server}` shows the difference, and accepts it if you confirm"
        );
        let hint = if change.accepted_before {
            format!(
                "{accept}; if the tool changes often, `pins = \"warn\"` in the entry of {server} permits that"
            )
        } else {
            accept
        };
        let mut fault = Fault::new(FaultKind::Denied, message)
            .user_hint(hint)
            .path(path);
        fault.details = Some(json!({ "changed": change.changed_paths }).to_string());
        Err(fault)
    }
}

/// The note before the description of a refused tool.
pub(super) fn mark(server: &str, change: &DefinitionChange) -> String {
    match change.before {
        Some(_) => format!(
            "(Refused: it has changed since it was first trusted; this describes the trusted definition. A person can \
             review it with `mux servers accept {server}`.)"
        ),
        None if change.unpinned => {
            "(Refused: its server has more tools than can be pinned.)".into()
        }
        None => format!(
            "(Refused: its trusted definition is lost. A person can review it with `mux servers accept {server}`.)"
        ),
    }
}

impl ToolSet {
    /// Warnings for the user about these tools.
    pub fn remarks(&self) -> Vec<ServerWarning> {
        let Some(server) = self.iter().next().map(|tool| &tool.server) else {
            return Vec::new();
        };
        let named = |wanted: fn(&Tool) -> bool| {
            let names = self.iter().filter(|tool| wanted(tool));
            let names: Vec<String> = names.map(|tool| tool.shown_name()).collect();
            (!names.is_empty()).then(|| (names.len(), listed(&names)))
        };
        let accept = format!("`mux servers accept {server}`");
        let mut remarks = Vec::new();
        if let Some((count, names)) = named(super::tool::Tool::is_refused) {
            let are = plural(count, "tool is", "tools are");
            remarks.push(Other.warning(format!(
                "{count} {are} not what was first trusted, and refused: {names}; {accept} shows the difference"
            )));
        }
        if let Some((count, names)) = named(|tool| {
            let change = tool.change();
            change.is_some_and(|change| change.reaction == ChangeReaction::Offer)
        }) {
            let are = plural(count, "tool is", "tools are");
            remarks.push(Other.warning(format!(
                "{count} {are} not what was first trusted: {names}; {accept} shows the difference"
            )));
        }
        if let Some((count, names)) = named(|tool| matches!(tool.pin_status, PinStatus::New)) {
            let are = plural(count, "tool is", "tools are");
            remarks.push(Other.warning(format!(
                "{count} {are} new since its server was first trusted: {names}; {accept} acknowledges this"
            )));
        }
        if !self.instruction_signs.is_empty() {
            let signs = listed_signs(&self.instruction_signs);
            remarks.push(Instructions.warning(format!(
                "the instructions of {server} may instruct a model beyond its tools: {signs}; `mux tools --server {server}` \
                 shows them"
            )));
        }
        let signed: Vec<_> = self.iter().filter(|tool| !tool.signs.is_empty()).collect();
        for tool in signed.iter().take(MAX_NAMED_TOOLS) {
            let path = self.path(tool);
            let signs = listed_signs(&tool.signs);
            remarks.push(Instructions.warning(format!(
                "{path} has text that may instruct a model: {signs}; `mux types {path}` shows it"
            )));
        }
        if let Some(more) = signed.len().checked_sub(MAX_NAMED_TOOLS + 1) {
            let more = more + 1;
            let have = plural(more, "tool has", "tools have");
            remarks.push(
                Instructions.warning(format!("{more} more {have} text that may instruct a model")),
            );
        }
        let mismatches = self.iter().filter_map(|tool| tool.mismatch());
        remarks.extend(
            mismatches
                .take(MAX_NAMED_TOOLS)
                .map(|text| Other.warning(text)),
        );
        remarks.extend(self.schema_remark().map(|text| Repaired.warning(text)));
        remarks
    }
}

fn listed(names: &[String]) -> String {
    match names.get(..MAX_NAMED_TOOLS) {
        Some(first) if names.len() > MAX_NAMED_TOOLS => {
            format!(
                "{} and {} more",
                first.join(", "),
                names.len() - MAX_NAMED_TOOLS
            )
        }
        _ => names.join(", "),
    }
}

fn plural(count: usize, one: &'static str, more: &'static str) -> &'static str {
    if count == 1 { one } else { more }
}
