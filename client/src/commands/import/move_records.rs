//! The record of the servers that were moved out of the agents' files, in `moved.json` of the state directory.
//!
//! Invariant: a record contains only names and paths. The entries themselves, which may contain secrets, are in the
//! backups.

use std::path::{Path, PathBuf};

use mux_proto::{Error, Kind, endpoint::Dirs};
use serde::{Deserialize, Serialize};

use super::agent_servers::AgentServer;
use crate::{
    agents::{Agent, AgentFile, AgentFileError, EditLock},
    exit,
};

/// Servers that were moved out of a file at one time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct MoveRecord {
    agent: String,
    /// The agent's file.
    pub(super) file: PathBuf,
    /// The file as it was before.
    pub(super) backup: PathBuf,
    pub(super) servers: Vec<MovedServer>,
}

/// The position of an entry in the agent's file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct MovedServer {
    pub(super) section: Vec<String>,
    pub(super) name: String,
}

impl MoveRecord {
    pub(super) fn new(agent: Agent, file: &Path, backup: &Path, servers: Vec<MovedServer>) -> Self {
        Self {
            agent: agent.name().to_owned(),
            file: file.to_owned(),
            backup: backup.to_owned(),
            servers,
        }
    }

    /// The agent, unless it is one of a newer mux.
    pub(super) fn agent(&self) -> Option<Agent> {
        Agent::all().find(|agent| agent.name() == self.agent)
    }
}

impl From<&AgentServer> for MovedServer {
    fn from(server: &AgentServer) -> Self {
        Self {
            section: server.section.clone(),
            name: server.name.clone(),
        }
    }
}

/// All records, the earliest first.
pub(super) fn read_moves(dirs: &Dirs) -> Result<Vec<MoveRecord>, Error> {
    parse_moves(&AgentFile::read(&dirs.moved_servers()).map_err(|error| unreadable(&error))?)
}

/// Replaces the records by the result of `change`.
pub(super) fn update_moves(
    dirs: &Dirs,
    change: impl FnOnce(&mut Vec<MoveRecord>),
) -> Result<(), Error> {
    // Only commands write this file: the lock is enough.
    let lock = EditLock::take(dirs).map_err(|error| unreadable(&error))?;
    let file = AgentFile::read(&dirs.moved_servers()).map_err(|error| unreadable(&error))?;
    let mut records = parse_moves(&file)?;
    change(&mut records);
    let text = serde_json::json!(records).to_string();
    file.replace(text.as_bytes(), &lock)
        .map_err(|error| unreadable(&error))
}

fn parse_moves(file: &AgentFile) -> Result<Vec<MoveRecord>, Error> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    serde_json::from_slice(file.bytes()).map_err(|error| {
        let message = format!("the record of moved servers cannot be read: {error}");
        Error::new(Kind::Validation, message).hint(
            "delete `moved.json` in the state directory; backups of the agents' files are next to them, as \
             NAME.mux-backup-TIME",
        )
    })
}

fn unreadable(error: &AgentFileError) -> Error {
    exit::unavailable_error(error.to_string())
}
