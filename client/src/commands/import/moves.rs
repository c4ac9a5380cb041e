//! `mux import --move`: takes the imported servers out of the agents' files.
//!
//! Invariant: a server leaves a file only if muxd can use its entry and the agent has mux. The file is backed up, and the move
//! is recorded, before the file is replaced.

use std::{path::PathBuf, time::SystemTime};

use mux_proto::{Error, Kind, endpoint::Dirs};
use mux_secrets::{KnownSecrets, MASK, Masker};
use serde_json::Value;

use super::{
    super::{CommandFailure, config::check_text, repeated_edit::repeat_blocking_edit},
    agent_servers::{AgentServer, AgentSource},
    env_file::EnvFile,
    merge::{IMPORT_SECTION, MergedConfig},
    move_records::{MoveRecord, MovedServer, update_moves},
    withhold_secrets::withhold_secrets,
};
use crate::{
    agents::{
        Agent, AgentFile, AgentPaths, ConfigDocument, ConfigFileError, EditLock, masked_diff,
    },
    render::{FileMove, ImportOutcome, ImportReport, ImportedServer},
};

pub(super) struct ServerMover<'a> {
    pub(super) dirs: &'a Dirs,
    pub(super) places: &'a AgentPaths,
    pub(super) dry_run: bool,
    /// Agents to which mux would be added before the move.
    pub(super) getting_mux: &'a [Agent],
}

impl ServerMover<'_> {
    /// Moves the imported servers, and adds the result to the servers in `merged` and to the report.
    pub(super) async fn move_servers(
        &self,
        sources: &[AgentSource],
        merged: &mut MergedConfig,
        import: &mut ImportReport,
    ) {
        let MergedConfig {
            config,
            env,
            carried,
        } = merged;
        let servers = sources
            .iter()
            .flat_map(|source| source.servers.iter().map(move |server| (source, server)));
        for ((source, server), carried) in servers.zip(carried.iter_mut()) {
            if !carried.is_mux {
                carried.stays = self.reason_to_stay(source, server, carried, config, env);
                carried.moved = carried.stays.is_none();
            }
        }
        if carried.iter().any(|one| one.moved) {
            match find_unusable_servers(carried, config, env, self.dirs).await {
                Ok(unusable) => {
                    for (index, reason) in unusable {
                        carried[index].stay(reason);
                    }
                }
                Err(failure) => {
                    stay_all(carried, "muxd did not report whether it can use the server");
                    import.move_error = Some(failure.error);
                }
            }
        }
        let mut rest = carried.as_mut_slice();
        for source in sources {
            let (mine, others) = rest.split_at_mut(source.servers.len());
            rest = others;
            let leaving: Vec<&AgentServer> = source
                .servers
                .iter()
                .zip(mine.iter())
                .filter(|(_, one)| one.moved)
                .map(|(server, _)| server)
                .collect();
            if leaving.is_empty() {
                continue;
            }
            match self.move_out(source, &leaving) {
                Ok(moved) => import.moved(source.agent, moved),
                Err(error) => {
                    stay_all(mine, "the file could not be changed");
                    import.not_moved(source.agent, error);
                }
            }
        }
    }

    /// Why a server stays in the agent's file, or `None` if it can be moved.
    fn reason_to_stay(
        &self,
        source: &AgentSource,
        server: &AgentServer,
        carried: &ImportedServer,
        config: &ConfigDocument,
        env: &EnvFile,
    ) -> Option<String> {
        let agent = server.agent;
        let name = match (&server.server, carried.fate, &carried.server) {
            (_, ImportOutcome::Kept | ImportOutcome::Skipped, _)
            | (Err(_), _, _)
            | (_, _, None) => return Some("it was not imported".into()),
            (Ok(_), _, Some(name)) => name,
        };
        let has_mux =
            self.getting_mux.contains(&agent) || !agent.mux_entries(&source.document).is_empty();
        if !has_mux {
            return Some(format!(
                "{} does not have mux yet; `mux install {}` adds it",
                agent.display_name(),
                agent.name()
            ));
        }
        if server.needs_edit {
            return Some(format!(
                "edit its entry in config.toml: only {} knows what it refers to",
                agent.display_name()
            ));
        }
        let variables = server.variables_by_hand.iter().chain(&carried.secrets);
        let mut missing = variables.filter(|variable| env.get(variable).is_none());
        if let Some(variable) = missing.next() {
            return Some(format!("put {variable}=… into the file `env` first"));
        }
        let ours = config.find_section_entry(IMPORT_SECTION, name);
        let is_off = ours.and_then(|entry| entry.get("enabled")) == Some(&Value::Bool(false));
        (is_off && carried.enabled).then(|| {
            format!("it is disabled in config.toml; `mux servers enable {name}` changes that")
        })
    }

    /// Takes servers out of one file.
    fn move_out(&self, source: &AgentSource, leaving: &[&AgentServer]) -> Result<FileMove, Error> {
        repeat_blocking_edit(|| self.try_move_out(source, leaving)).map_err(|failure| {
            let mut error = failure.error;
            let hint = || "`mux import --move` tries again".into();
            error.hint.get_or_insert_with(hint);
            error
        })
    }

    fn try_move_out(
        &self,
        source: &AgentSource,
        leaving: &[&AgentServer],
    ) -> Result<FileMove, CommandFailure> {
        // Read again: the agent may have written its file while muxd looked at the servers.
        let file = AgentFile::read(&source.path)?;
        let document = file.parse(source.agent.format())?;
        let servers: Vec<MovedServer> = leaving.iter().copied().map(Into::into).collect();
        for MovedServer { section, name } in &servers {
            let entry = document.find_section_entry(section, name);
            if entry != source.document.find_section_entry(section, name) {
                let file = source.path.display();
                let message = format!("the entry {name} of {file} was changed in the meantime");
                return Err(Error::new(Kind::Unavailable, message).into());
            }
        }
        let edited = without_servers(&document, &servers).map_err(|error| {
            let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
            let hint = format!("remove {} by hand", names.join(", "));
            Error::from(CommandFailure::from(error)).hint(hint)
        })?;
        let text = edited.text();
        let path = self.places.tilde_path(&source.path);
        let diff = diff_without_secrets(&document.text(), &text, &path, &source.servers);
        let backup = if self.dry_run {
            None
        } else {
            self.write_move(&file, source, servers, &text)?
        };
        Ok(FileMove { diff, backup })
    }

    fn write_move(
        &self,
        file: &AgentFile,
        source: &AgentSource,
        servers: Vec<MovedServer>,
        text: &str,
    ) -> Result<Option<PathBuf>, CommandFailure> {
        let Some(backup) = file.back_up(SystemTime::now())? else {
            return Ok(None);
        };
        let record = MoveRecord::new(source.agent, &source.path, &backup, servers);
        let kept = record.clone();
        update_moves(self.dirs, |moves| moves.push(record))?;
        let replaced =
            EditLock::take(self.dirs).and_then(|lock| file.replace(text.as_bytes(), &lock));
        if let Err(error) = replaced {
            drop(update_moves(self.dirs, |moves| {
                moves.retain(|one| *one != kept);
            }));
            drop(std::fs::remove_file(&backup));
            return Err(error.into());
        }
        Ok(Some(backup))
    }
}

/// Keeps all servers in their files that would be moved.
fn stay_all(carried: &mut [ImportedServer], reason: &str) {
    for one in carried.iter_mut().filter(|one| one.moved) {
        one.stay(reason.into());
    }
}

/// The servers among those to be moved whose entries in `config` muxd cannot use, by their index. Starts muxd if it does
/// not run, in a dry run, too: the result is the same then.
async fn find_unusable_servers(
    carried: &[ImportedServer],
    config: &ConfigDocument,
    env: &EnvFile,
    dirs: &Dirs,
) -> Result<Vec<(usize, String)>, CommandFailure> {
    let mut text = config.text();
    for name in env.names() {
        // A dry run has not written these variables.
        text = text.replace(&format!("${{{name}}}"), "set");
    }
    let report = check_text(text, &dirs.config_file()).await?;
    let moving = carried.iter().enumerate().filter(|(_, one)| one.moved);
    let unusable = moving.filter_map(|(index, one)| {
        let name = one.server.as_deref().unwrap_or_default();
        let prefix = format!("[{}.{name}]: ", IMPORT_SECTION.join("."));
        let mut problems = report.problems.iter().filter(|problem| !problem.advisory);
        let reason = problems.find_map(|problem| problem.message.strip_prefix(&prefix))?;
        Some((index, format!("muxd cannot use it: {reason}")))
    });
    Ok(unusable.collect())
}

/// An agent's file without these entries.
pub(super) fn without_servers(
    document: &ConfigDocument,
    servers: &[MovedServer],
) -> Result<ConfigDocument, ConfigFileError> {
    let mut servers = servers.iter();
    servers.try_fold(document.clone(), |document, server| {
        document.without_server_entry(&server.section, &server.name)
    })
}

/// The diff of an agent's file, in which the secrets of these servers are masked wherever they are.
pub(super) fn diff_without_secrets(
    old: &str,
    new: &str,
    path: &str,
    servers: &[AgentServer],
) -> String {
    let mut known = KnownSecrets::new();
    let mut quoted = Vec::new();
    for server in servers {
        let Ok(definition) = &server.server else {
            continue;
        };
        for secret in withhold_secrets(definition, &server.name).1 {
            let value = secret.value.expose();
            known.add(value);
            // Also a secret that is too short to be masked within other text.
            quoted.push(Value::from(value).to_string());
        }
    }
    let masker = Masker::new(&known);
    let mask = |text: &str| {
        let mut text = text.to_owned();
        for value in &quoted {
            text = text.replace(value, &format!("\"{MASK}\""));
        }
        masker.text(&text)
    };
    masked_diff(&mask(old), &mask(new), path)
}

#[cfg(test)]
mod tests;
