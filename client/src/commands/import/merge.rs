//! Decides which of the agents' servers go into config.toml, and under which names. Pure.
//!
//! Invariant: servers in the same order get the same names, so that a second import finds everything there.

use serde_json::{Map, Value};

use super::{
    definition::{Definition, IDENTITY, over, same},
    env_file::EnvFile,
    foreign::Source,
    names,
    withhold::{WithheldSecret, withhold},
};
use crate::{
    agents::{Agent, Document, DocumentError},
    render::{Carried, Fate},
};

const SECTION: &[&str] = &["servers"];

/// The new content of config.toml and the `env` file.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) config: String,
    pub(super) env: EnvFile,
    pub(super) carried: Vec<Carried>,
}

/// Merges the servers of all agents into `config`.
pub(super) fn merge(
    sources: &[Source],
    config: Document,
    env: EnvFile,
    replace: bool,
) -> Result<Merged, DocumentError> {
    let mut merging = Merging {
        config,
        env,
        replace,
        taken: Vec::new(),
    };
    let carried = sources.iter().map(|source| merging.take(source));
    let carried = carried.collect::<Result<_, _>>()?;
    Ok(Merged {
        config: merging.config.text(),
        env: merging.env,
        carried,
    })
}

struct Merging {
    config: Document,
    env: EnvFile,
    replace: bool,
    /// Names in config.toml that this import has given to servers so far.
    taken: Vec<String>,
}

/// The entry that already has a name.
enum Standing {
    Nothing,
    /// The same server, with the name as it is written.
    Same(String),
    Other(String),
}

impl Merging {
    fn take(&mut self, source: &Source) -> Result<Carried, DocumentError> {
        let mut carried = Carried {
            agent: source.agent,
            name: source.name.clone(),
            server: None,
            fate: Fate::Skipped,
            disabled: false,
            notes: source.notes.clone(),
            secrets: Vec::new(),
        };
        let definition = match &source.server {
            Ok(definition) => definition,
            Err(reason) => {
                carried.notes.insert(0, reason.to_string());
                return Ok(carried);
            }
        };
        carried.disabled = definition.disabled;
        let (name, fate) = self.place(definition, &source.name, source.agent);
        (carried.server, carried.fate) = (Some(name.clone()), fate);
        if fate == Fate::Kept {
            carried.notes.clear();
            return Ok(carried);
        }
        self.taken.push(name.clone());
        let (open, secrets) = withhold(definition, &name);
        carried.secrets = secrets
            .iter()
            .map(|secret| secret.variable.clone())
            .collect();
        if fate == Fate::Same {
            return Ok(carried);
        }
        for WithheldSecret { variable, value } in &secrets {
            if !self.env.set(variable, value.expose()) {
                carried.notes.push(format!(
                    "the value of {variable} has a line break, which the file `env` cannot hold"
                ));
            }
        }
        self.write(&name, &open.entry())?;
        Ok(carried)
    }

    /// Chooses the name of a server, and what is done with it.
    fn place(&self, definition: &Definition, theirs: &str, agent: Agent) -> (String, Fate) {
        let plain = names::allowed(theirs);
        let with_agent = format!("{plain}-{}", agent.name());
        let other = match self.standing(&plain, definition) {
            Standing::Nothing => return (plain, Fate::Added),
            Standing::Same(name) => return (name, Fate::Same),
            Standing::Other(name) => name,
        };
        let mut number = 1;
        let mut candidate = with_agent.clone();
        // Another agent's server got the name in this import, so the user has no entry to keep or replace.
        let clash = self.taken.contains(&other);
        loop {
            match self.standing(&candidate, definition) {
                Standing::Same(name) => return (name, Fate::Same),
                Standing::Nothing if clash => return (candidate, Fate::Added),
                Standing::Other(_) if clash => {
                    number += 1;
                    candidate = format!("{with_agent}-{number}");
                }
                _ if self.replace => return (other, Fate::Replaced),
                _ => return (other, Fate::Kept),
            }
        }
    }

    fn standing(&self, name: &str, definition: &Definition) -> Standing {
        let entries = self.config.servers(SECTION);
        let found = entries
            .into_iter()
            .find(|(known, _)| names::clash(known, name));
        let Some((known, entry)) = found else {
            return Standing::Nothing;
        };
        let (open, secrets) = withhold(definition, known);
        let told =
            |secret: &WithheldSecret| self.env.get(&secret.variable) == Some(secret.value.expose());
        if same(entry, &open.entry()) && secrets.iter().all(told) {
            Standing::Same(known.into())
        } else {
            Standing::Other(known.into())
        }
    }

    /// Writes an entry over the existing one, whose keys other than [`IDENTITY`] stay.
    fn write(&mut self, name: &str, entry: &Map<String, Value>) -> Result<(), DocumentError> {
        let mut entry = entry.clone();
        let old = self.config.server(SECTION, name).and_then(Value::as_object);
        for (key, _) in old.into_iter().flatten() {
            if !IDENTITY.contains(&key.as_str()) {
                entry.remove(key);
            }
        }
        self.config = over(&self.config, SECTION, name, &entry, IDENTITY)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
