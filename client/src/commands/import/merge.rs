//! Decides which of the agents' servers go into config.toml, and under which names. Pure.
//!
//! Invariant: servers in the same order get the same names. A second import therefore finds all of them.

use serde_json::{Map, Value};

use super::{
    agent_servers::{AgentServer, SkipReason},
    env_file::EnvFile,
    server_definition::{
        SERVER_IDENTITY_KEYS, ServerDefinition, is_same_definition, overwrite_entry,
    },
    server_names,
    withhold_secrets::{WithheldSecret, withhold_secrets},
};
use crate::{
    agents::{Agent, AgentPaths, ConfigDocument, ConfigFileError},
    render::{ImportOutcome, ImportedServer},
};

pub(super) const IMPORT_SECTION: &[&str] = &["servers"];

/// The new content of config.toml and the `env` file.
#[derive(Debug)]
pub(super) struct MergedConfig {
    pub(super) config: ConfigDocument,
    pub(super) env: EnvFile,
    pub(super) carried: Vec<ImportedServer>,
}

/// Merges the servers of all agents into `config`.
pub(super) fn merge_servers<'a>(
    sources: impl IntoIterator<Item = &'a AgentServer>,
    config: ConfigDocument,
    env: EnvFile,
    replace: bool,
    places: &AgentPaths,
) -> Result<MergedConfig, ConfigFileError> {
    let mut merging = ConfigMerger {
        places,
        config,
        env,
        replace,
        taken: Vec::new(),
    };
    let carried = sources
        .into_iter()
        .map(|source| merging.merge_server(source));
    let carried = carried.collect::<Result<_, _>>()?;
    Ok(MergedConfig {
        config: merging.config,
        env: merging.env,
        carried,
    })
}

struct ConfigMerger<'a> {
    places: &'a AgentPaths,
    config: ConfigDocument,
    env: EnvFile,
    replace: bool,
    /// Names in config.toml that this import has given to servers so far.
    taken: Vec<String>,
}

/// The entry that already has a name.
enum ExistingEntry {
    Nothing,
    /// The same server, with the name as written.
    Same(String),
    Other(String),
}

impl ConfigMerger<'_> {
    fn merge_server(&mut self, source: &AgentServer) -> Result<ImportedServer, ConfigFileError> {
        let mut carried = ImportedServer {
            agent: source.agent,
            name: source.name.clone(),
            server: None,
            fate: ImportOutcome::Skipped,
            moved: false,
            stays: None,
            is_mux: matches!(source.server, Err(SkipReason::Ourselves)),
            enabled: true,
            notes: source.notes.clone(),
            secrets: Vec::new(),
            proposed_sandbox: None,
        };
        let definition = match &source.server {
            Ok(definition) => definition,
            Err(reason) => {
                carried.notes.insert(0, reason.to_string());
                return Ok(carried);
            }
        };
        carried.enabled = !definition.disabled;
        let (name, fate) = self.choose_server_name(definition, &source.name, source.agent);
        (carried.server, carried.fate) = (Some(name.clone()), fate);
        if fate == ImportOutcome::Kept {
            carried.notes.clear();
            return Ok(carried);
        }
        self.taken.push(name.clone());
        let (open, secrets) = withhold_secrets(definition, &name);
        carried.secrets = secrets
            .iter()
            .map(|secret| secret.variable.clone())
            .collect();
        if fate == ImportOutcome::Same {
            return Ok(carried);
        }
        for WithheldSecret { variable, value } in &secrets {
            if !self.env.set(variable, value.expose()) {
                carried.notes.push(format!(
                    "the value of {variable} has a line break, which the file `env` cannot hold"
                ));
            }
        }
        self.put_entry(&name, &open.to_entry())?;
        let written = self.config.find_section_entry(IMPORT_SECTION, &name);
        if written.is_none_or(|entry| entry.get("sandbox").is_none()) {
            carried.proposed_sandbox = open.proposed_sandbox(self.places);
        }
        Ok(carried)
    }

    /// Chooses the name of a server, and its outcome.
    fn choose_server_name(
        &self,
        definition: &ServerDefinition,
        theirs: &str,
        agent: Agent,
    ) -> (String, ImportOutcome) {
        let plain = server_names::imported_name(theirs);
        let with_agent = format!("{plain}_{}", server_names::imported_name(agent.name()));
        let other = match self.find_existing_entry(&plain, definition) {
            ExistingEntry::Nothing => return (plain, ImportOutcome::Added),
            ExistingEntry::Same(name) => return (name, ImportOutcome::Same),
            ExistingEntry::Other(name) => name,
        };
        let mut number = 1;
        let mut candidate = with_agent.clone();
        // Another agent's server got the name in this import, so the user has no entry to keep or replace.
        let clash = self.taken.contains(&other);
        loop {
            match self.find_existing_entry(&candidate, definition) {
                ExistingEntry::Same(name) => return (name, ImportOutcome::Same),
                ExistingEntry::Nothing if clash => return (candidate, ImportOutcome::Added),
                ExistingEntry::Other(_) if clash => {
                    number += 1;
                    candidate = format!("{with_agent}_{number}");
                }
                _ if self.replace => return (other, ImportOutcome::Replaced),
                _ => return (other, ImportOutcome::Kept),
            }
        }
    }

    fn find_existing_entry(&self, name: &str, definition: &ServerDefinition) -> ExistingEntry {
        let found = self.config.find_spelled_entry(IMPORT_SECTION, name);
        let Some((known, entry)) = found else {
            return ExistingEntry::Nothing;
        };
        let (open, secrets) = withhold_secrets(definition, known);
        let is_stored =
            |secret: &WithheldSecret| self.env.get(&secret.variable) == Some(secret.value.expose());
        if is_same_definition(entry, &open.to_entry()) && secrets.iter().all(is_stored) {
            ExistingEntry::Same(known.into())
        } else {
            ExistingEntry::Other(known.into())
        }
    }

    /// Writes an entry over the existing one, whose keys other than [`SERVER_IDENTITY_KEYS`] stay.
    fn put_entry(&mut self, name: &str, entry: &Map<String, Value>) -> Result<(), ConfigFileError> {
        let mut entry = entry.clone();
        let old = self
            .config
            .find_section_entry(IMPORT_SECTION, name)
            .and_then(Value::as_object);
        for (key, _) in old.into_iter().flatten() {
            if !SERVER_IDENTITY_KEYS.contains(&key.as_str()) {
                entry.remove(key);
            }
        }
        self.config = overwrite_entry(
            &self.config,
            IMPORT_SECTION,
            name,
            &entry,
            SERVER_IDENTITY_KEYS,
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
