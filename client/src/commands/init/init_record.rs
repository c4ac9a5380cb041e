//! The changes that `mux init` has made, in `init.json` of the state directory, for `mux init --undo`.
//!
//! Invariant: the record contains only names, paths and digests: an entry may contain a secret.

use std::{collections::BTreeMap, path::PathBuf};

use mux_proto::{Error, Kind, endpoint::Dirs};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::{CommandFailure, config_edit::ConfigFiles};
use crate::{
    agents::{Agent, AgentFile, EditLock},
    render::{CompilerStep, InitReport},
};

/// All changes of `mux init` since the last undo.
#[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(super) struct InitRecord {
    /// The agents whose files got mux.
    agents: Vec<String>,
    /// The servers that were added, each with the digest of its entry.
    pub(super) servers: BTreeMap<String, String>,
    /// The variables that were added to `env`.
    pub(super) variables: Vec<String>,
    /// Set if `env` did not exist before.
    pub(super) created_env: bool,
    /// The directory into which the type checker was installed.
    pub(super) compiler: Option<PathBuf>,
    /// Set if the service was installed.
    pub(super) service: bool,
}

impl InitRecord {
    /// A record of the state before the steps are taken.
    pub(super) fn before(dirs: &Dirs) -> Self {
        Self {
            created_env: !dirs.env_file().exists(),
            ..Self::default()
        }
    }

    pub(super) fn read(dirs: &Dirs) -> Result<Self, CommandFailure> {
        let file = AgentFile::read(&dirs.init_record())?;
        if !file.exists() {
            return Ok(Self::default());
        }
        serde_json::from_slice(file.bytes()).map_err(|error| {
            let path = dirs.init_record();
            let message = format!("{} cannot be read: {error}", path.display());
            Error::new(Kind::Validation, message)
                .hint(
                    "delete it; `mux import --undo`, `mux install --undo` and `mux servers remove NAME` undo single steps",
                )
                .into()
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        let unchanged = Self {
            created_env: self.created_env,
            ..Self::default()
        };
        *self == unchanged
    }

    /// The agents whose files got mux.
    pub(super) fn agents(&self) -> Vec<Agent> {
        // The names of agents that only another version of mux knows are left out.
        let is_named = |agent: &Agent| self.agents.iter().any(|name| name == agent.name());
        Agent::all().filter(is_named).collect()
    }

    /// Adds the completed steps to the record on disk.
    pub(super) fn add(self, done: &InitReport, dirs: &Dirs) -> Result<(), CommandFailure> {
        let earlier = Self::read(dirs)?;
        let mut record = if earlier.is_empty() { self } else { earlier };
        let agents = done.edited_agents().map(|agent| agent.name().to_owned());
        record.agents.extend(agents);
        if let Some(Ok(import)) = &done.import {
            let files = ConfigFiles::read(&["servers"])?;
            for server in import.written() {
                let name = server.server.clone().unwrap_or_default();
                if let Some(entry) = files.config.find_section_entry(&["servers"], &name) {
                    record.servers.insert(name, entry_digest(entry));
                }
                record.variables.extend(server.secrets.iter().cloned());
            }
        }
        if let Ok(CompilerStep::Installed { .. }) = &done.compiler {
            record.compiler = Some(dirs.typescript());
        }
        record.service |= matches!(&done.service, Some(Ok(change)) if !change.is_idle());
        for names in [&mut record.agents, &mut record.variables] {
            names.sort_unstable();
            names.dedup();
        }
        if record.is_empty() {
            return Ok(());
        }
        record.write(dirs)
    }

    /// Adds a variable that the user has given to the record on disk.
    pub(super) fn add_variable(name: &str, dirs: &Dirs) -> Result<(), CommandFailure> {
        let mut record = Self::read(dirs)?;
        if !record.variables.iter().any(|known| known == name) {
            record.variables.push(name.to_owned());
        }
        record.write(dirs)
    }

    fn write(&self, dirs: &Dirs) -> Result<(), CommandFailure> {
        let lock = EditLock::take(dirs)?;
        let file = AgentFile::read(&dirs.init_record())?;
        let text = serde_json::json!(self).to_string();
        Ok(file.replace(text.as_bytes(), &lock)?)
    }

    pub(super) fn remove(dirs: &Dirs) -> Result<(), CommandFailure> {
        let lock = EditLock::take(dirs)?;
        let file = AgentFile::read(&dirs.init_record())?;
        if file.exists() {
            Ok(file.remove(&lock)?)
        } else {
            Ok(())
        }
    }
}

/// The digest of an entry, to see whether it was changed.
pub(super) fn entry_digest(entry: &Value) -> String {
    let digest = Sha256::digest(entry.to_string());
    let bytes: Vec<_> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.concat()
}
