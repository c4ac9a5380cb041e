//! Which of the agents' servers go into our configuration, under which names. Pure.
//!
//! Invariant: servers are taken in order, and the same order gives the same names again, so that a
//! second import finds everything there.

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

/// What our files become.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) config: String,
    pub(super) env: EnvFile,
    pub(super) carried: Vec<Carried>,
}

/// `config` with the servers of all agents.
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
    /// Names of ours that one of the agents' servers has by now.
    taken: Vec<String>,
}

/// What stands under a name already.
enum Standing {
    Nothing,
    /// This server, under the name as it is written there.
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

    /// Under which name a server goes, and what becomes of it there.
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
        // Another agent's server has the name: it is no mistake of the user that ours differs.
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

    /// Writes an entry, over the one that is there. What that says beyond what a server is stays.
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
