//! Removes our entry. Restores the backup if the file was not changed otherwise since.
//!
//! This needs no record: the file is unchanged if it equals one of its backups with our entry added.

use std::path::Path;

use super::plan::{Plan, PlanError, Step};
use crate::{
    agents::{Agent, AgentFile, Document, Door, backups},
    render::Status,
};

pub(super) fn plan(
    file: &AgentFile,
    path: &Path,
    agent: Agent,
    name: &str,
) -> Result<Plan, PlanError> {
    let document = Document::parse(file.bytes(), agent.format())?;
    let section = agent.section(&document);
    let Some(entry) = document.server(section, name) else {
        return Ok(Plan {
            status: Status::Absent,
            step: Step::Nothing,
        });
    };
    let door = Door::read(entry)
        .filter(|door| door.is_ours(name))
        .ok_or_else(|| PlanError::Taken(name.into()))?;
    let found = backups(path).into_iter().find_map(|backup| {
        let bytes = std::fs::read(&backup).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let made = with_entry(text.as_bytes(), agent, name, &door)?;
        (made.as_bytes() == file.bytes()).then_some(Step::Restore { text, backup })
    });
    let (status, step) = match found {
        Some(restore) => (Status::Restored, restore),
        None if with_entry(b"", agent, name, &door)
            .is_some_and(|made| made.as_bytes() == file.bytes()) =>
        {
            (Status::Removed, Step::Remove)
        }
        None => (Status::Removed, Step::Write(document.take(section, name)?)),
    };
    Ok(Plan { status, step })
}

/// The file with our entry added; `None` if it has an entry of this name.
fn with_entry(bytes: &[u8], agent: Agent, name: &str, door: &Door) -> Option<String> {
    let document = Document::parse(bytes, agent.format()).ok()?;
    let section = agent.section(&document);
    if document.server(section, name).is_some() {
        return None;
    }
    document
        .put(section, name, &door.entry(agent, section))
        .ok()
}
