//! How a tool stands to its pin, and what is said of it.
//!
//! Invariant: a refused tool is described by what was trusted, or by nothing of its server's: models never read the words
//! that nobody has accepted.

use mux_wire::{Fault, Kind};
use serde_json::json;

use super::{Tool, ToolSet};
use mux_text::digest::DigestKey;

/// Names that a warning lists.
const MAX_NAMED_TOOLS: usize = 8;

/// How a tool stands to what was pinned of it.
#[derive(Clone, Debug, Default)]
pub enum PinStatus {
    /// It is what was trusted, or nobody compares.
    #[default]
    Trusted,
    /// It came after its server was first trusted.
    New,
    Changed(Box<DefinitionChange>),
}

/// A definition that is not the one that was trusted.
#[derive(Clone, Debug)]
pub struct DefinitionChange {
    /// What was trusted. `None` if nothing is known of it any more.
    pub before: Option<Box<str>>,
    /// MCP's `Tool`, as the server gives it now. Both are canonical texts.
    pub now: Box<str>,
    /// Names what it is now.
    pub digest: DigestKey,
    pub refused: bool,
    /// There was no place for a pin, and it was never trusted.
    pub unpinned: bool,
    /// Where the two differ, in words of the trusted one.
    pub places: Vec<String>,
}

impl Tool {
    pub fn change(&self) -> Option<&DefinitionChange> {
        match &self.standing {
            PinStatus::Changed(change) => Some(change),
            PinStatus::Trusted | PinStatus::New => None,
        }
    }

    /// Whether calls are refused until somebody has accepted what it is now.
    pub fn is_refused(&self) -> bool {
        self.change().is_some_and(|change| change.refused)
    }

    /// To be asked of the very tool that is called. The error holds nothing of what the server says now.
    pub fn check_standing(&self) -> Result<(), Fault> {
        let Some(change) = self.change().filter(|change| change.refused) else {
            return Ok(());
        };
        let path = self.path();
        let message = match change.before {
            Some(_) => format!("{path} is not what it was when you first trusted it"),
            None if change.unpinned => {
                format!("{path} is not pinned, since its server has more tools than can be")
            }
            None => format!("nothing is known any more of what {path} was when you trusted it"),
        };
        let server = &self.server;
        let mut fault = Fault::new(Kind::Denied, message)
            .user_hint(format!(
                "`mux servers accept {server}` shows the difference, and accepts it if you say so"
            ))
            .path(path);
        fault.details = Some(json!({ "changed": change.places }).to_string());
        Err(fault)
    }
}

/// What stands before the description of a refused tool.
pub(super) fn mark(server: &str, change: &DefinitionChange) -> String {
    match change.before {
        Some(_) => format!(
            "(Refused: it is not what it was when it was first trusted; this describes what it was. A person can look at \
             it with `mux servers accept {server}`.)"
        ),
        None if change.unpinned => {
            "(Refused: its server has more tools than can be pinned.)".into()
        }
        None => format!(
            "(Refused: what was trusted of it is lost. A person can look at it with `mux servers accept {server}`.)"
        ),
    }
}

impl ToolSet {
    /// What a user should look at.
    pub fn remarks(&self) -> Vec<String> {
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
        if let Some((count, names)) = named(|tool| tool.is_refused()) {
            let are = plural(count, "tool is", "tools are");
            remarks.push(format!(
                "{count} {are} not what was first trusted, and refused: {names}; {accept} shows the difference"
            ));
        }
        if let Some((count, names)) = named(|tool| tool.change().is_some_and(|c| !c.refused)) {
            let are = plural(count, "tool is", "tools are");
            remarks.push(format!(
                "{count} {are} not what was first trusted: {names}; {accept} shows the difference"
            ));
        }
        if let Some((count, names)) = named(|tool| matches!(tool.standing, PinStatus::New)) {
            let are = plural(count, "tool is", "tools are");
            remarks.push(format!(
                "{count} {are} new since it was first trusted: {names}; {accept} takes note"
            ));
        }
        let mismatches = self.iter().filter_map(|tool| tool.mismatch());
        remarks.extend(mismatches.take(MAX_NAMED_TOOLS).map(str::to_owned));
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
