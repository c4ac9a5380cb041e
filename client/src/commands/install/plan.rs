//! Plans the edit of an agent's file. Pure.

use std::path::PathBuf;

use mux_proto::variables;

use crate::{
    agents::{Agent, AgentFile, Document, DocumentError, Door},
    render::Status,
};

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) status: Status,
    pub(super) step: Step,
}

#[derive(Debug)]
pub(super) enum Step {
    Nothing,
    Write(String),
    /// Restores the file as it was before our entry.
    Restore {
        text: String,
        backup: PathBuf,
    },
    /// Removes the file, which has only our entry.
    Remove,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("its entry `{0}` is another server")]
    Taken(String),
}

impl PlanError {
    /// The error, if it is about the file itself.
    pub(super) fn document(&self) -> Option<&DocumentError> {
        match self {
            Self::Document(error) => Some(error),
            Self::Taken(_) => None,
        }
    }
}

/// Adds our entry, or updates it.
pub(super) fn plan(
    file: &AgentFile,
    agent: Agent,
    name: &str,
    door: &Door,
) -> Result<Plan, PlanError> {
    let mut document = Document::parse(file.bytes(), agent.format())?;
    let section = agent.section(&document);
    let entry = door.entry(agent, section);
    let old = match document.server(section, name) {
        Some(old) => Some(ours(old, name, door)?),
        None => None,
    };
    let has = |door: &Door| door.env.iter().any(|(name, _)| name == variables::HOME);
    if old.as_ref().is_some_and(|old| has(old) && !has(door)) {
        // The old entry sets `MUX_HOME`, which `put` would keep.
        let without = document.take(section, name)?;
        document = Document::parse(without.as_bytes(), agent.format())?;
    }
    let text = document.put(section, name, &entry)?;
    Ok(if text.as_bytes() == file.bytes() && file.exists() {
        Plan {
            status: Status::Unchanged,
            step: Step::Nothing,
        }
    } else {
        Plan {
            status: match old {
                Some(_) => Status::Updated,
                None => Status::Added,
            },
            step: Step::Write(text),
        }
    })
}

/// Parses the entry; fails if it is another server's.
fn ours(entry: &serde_json::Value, name: &str, door: &Door) -> Result<Door, PlanError> {
    Door::read(entry)
        .filter(|old| old.is_ours(name) || old.command == door.command)
        .ok_or_else(|| PlanError::Taken(name.into()))
}

/// The names of our entries in a file.
pub(super) fn names_of_ours(document: &Document, agent: Agent) -> Vec<String> {
    let section = agent.section(document);
    let entries = document.servers(section);
    entries
        .into_iter()
        .filter(|(name, entry)| Door::read(entry).is_some_and(|door| door.is_ours(name)))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The section that an empty file would have, for a file that cannot be read.
pub(super) fn usual_section(agent: Agent) -> &'static [&'static str] {
    Document::parse(b"", agent.format()).map_or(&[], |document| agent.section(&document))
}
