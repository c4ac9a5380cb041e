//! Removes our entry. Restores the backup if the file has no other changes.
//!
//! This needs no record: the file is unchanged if it equals one of its backups with our entry added.

use std::path::Path;

use super::install_plan::{FileStep, InstallPlan, InstallPlanError};
use crate::{
    agents::{Agent, AgentFile, ConfigDocument, MuxEntry, list_backups},
    render::InstallStatus,
};

pub(super) fn plan_uninstall(
    file: &AgentFile,
    path: &Path,
    agent: Agent,
    name: &str,
) -> Result<InstallPlan, InstallPlanError> {
    let document = file.parse(agent.format())?;
    let section = agent.servers_section(&document);
    let Some(entry) = document.find_section_entry(section, name) else {
        return Ok(InstallPlan {
            status: InstallStatus::Absent,
            step: FileStep::Nothing,
        });
    };
    let mux_entry = MuxEntry::parse_mcp_entry(entry)
        .filter(|mux_entry| mux_entry.starts_mux(name))
        .ok_or_else(|| InstallPlanError::Taken(name.into()))?;
    let found = list_backups(path).into_iter().find_map(|backup| {
        let bytes = std::fs::read(&backup).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let made = with_entry(text.as_bytes(), agent, name, &mux_entry)?;
        (made.as_bytes() == file.bytes()).then_some(FileStep::Restore { text, backup })
    });
    let (status, step) = match found {
        Some(restore) => (InstallStatus::Restored, restore),
        None if with_entry(b"", agent, name, &mux_entry)
            .is_some_and(|made| made.as_bytes() == file.bytes()) =>
        {
            (InstallStatus::Removed, FileStep::Remove)
        }
        None => (
            InstallStatus::Removed,
            FileStep::Write(document.without_server_entry(section, name)?.text()),
        ),
    };
    Ok(InstallPlan { status, step })
}

/// The file with our entry added, or `None` if it has an entry of this name.
fn with_entry(bytes: &[u8], agent: Agent, name: &str, mux_entry: &MuxEntry) -> Option<String> {
    let document = ConfigDocument::parse(bytes, agent.format()).ok()?;
    let section = agent.servers_section(&document);
    if document.find_section_entry(section, name).is_some() {
        return None;
    }
    let entry = mux_entry.to_agent_entry(agent, section, name);
    let edited = document.with_server_entry(section, name, &entry);
    Some(edited.ok()?.text())
}
