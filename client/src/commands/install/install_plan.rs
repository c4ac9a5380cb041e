//! Plans the edit of an agent's file. Pure.

use std::path::PathBuf;

use mux_proto::variables;

use crate::{
    agents::{Agent, AgentFile, ConfigFileError, MuxEntry},
    render::InstallStatus,
};

#[derive(Debug)]
pub(super) struct InstallPlan {
    pub(super) status: InstallStatus,
    pub(super) step: FileStep,
}

#[derive(Debug)]
pub(super) enum FileStep {
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
pub(super) enum InstallPlanError {
    #[error(transparent)]
    File(#[from] ConfigFileError),
    #[error("its entry `{0}` is another server")]
    Taken(String),
}

/// Adds our entry, or updates it.
pub(super) fn plan_install(
    file: &AgentFile,
    agent: Agent,
    name: &str,
    mux_entry: &MuxEntry,
) -> Result<InstallPlan, InstallPlanError> {
    let mut document = file.parse(agent.format())?;
    let section = agent.servers_section(&document);
    let entry = mux_entry.to_agent_entry(agent, section, name);
    let old = document.find_section_entry(section, name);
    let old = old.map(|old| parse_own_entry(old, name, mux_entry));
    let old = old.transpose()?;
    let has = |mux_entry: &MuxEntry| {
        mux_entry
            .env
            .iter()
            .any(|(name, _)| name == variables::HOME)
    };
    if old.as_ref().is_some_and(|old| has(old) && !has(mux_entry)) {
        // The old entry sets `MUX_HOME`, which `put` would keep.
        document = document.without_server_entry(section, name)?;
    }
    let text = document.with_server_entry(section, name, &entry)?.text();
    let (status, step) = if text.as_bytes() == file.bytes() && file.exists() {
        (InstallStatus::Unchanged, FileStep::Nothing)
    } else if old.is_some() {
        (InstallStatus::Updated, FileStep::Write(text))
    } else {
        (InstallStatus::Added, FileStep::Write(text))
    };
    Ok(InstallPlan { status, step })
}

/// Parses the entry. Fails if the entry belongs to another server.
fn parse_own_entry(
    entry: &serde_json::Value,
    name: &str,
    mux_entry: &MuxEntry,
) -> Result<MuxEntry, InstallPlanError> {
    MuxEntry::parse_mcp_entry(entry)
        .filter(|old| old.starts_mux(name) || old.command == mux_entry.command)
        .ok_or_else(|| InstallPlanError::Taken(name.into()))
}
