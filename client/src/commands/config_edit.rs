//! Edits config.toml and the `env` file with the secrets: one entry at a time, with comments and order kept.
//!
//! Invariant: the files are edited here and never by a request to the daemon. A client that can only call tools
//! therefore cannot add a program or an address.

use std::{path::PathBuf, time::SystemTime};

use mux_client::within_seconds;
use mux_proto::{Error, Kind, ServerInfo, ServerState, endpoint::Dirs};
use serde_json::Value;

use super::{
    CommandFailure, connect_if_running,
    import::{self, EnvFile, WithheldSecret},
    install::agent_places,
    repeated_edit::repeat_blocking_edit,
    resolve_dirs,
};
use crate::{
    agents::{
        AgentFile, ConfigDocument, ConfigFormat, EditLock, MAX_KEPT_FILES, list_backups,
        masked_diff, remove_older_files,
    },
    render::ServerEdit,
};

/// The sections that share one namespace, each with the word for its entries.
const NAMESPACE_SECTIONS: &[(&[&str], &str)] =
    &[(&["servers"], "server"), (&["sources"], "source")];

pub(super) fn edit_verb(replaced: bool) -> &'static str {
    if replaced { "replaced" } else { "added" }
}

/// Returns true if config.toml has servers or sources. An unreadable file counts as having some.
pub(super) fn has_entries() -> bool {
    ConfigFiles::read(&["servers"]).map_or(true, |files| {
        let mut sections = NAMESPACE_SECTIONS.iter().map(|(section, _)| *section);
        sections.any(|section| !files.config.section_entries(section).is_empty())
    })
}

/// The backups of the files that were written.
#[derive(Default)]
pub(super) struct ConfigBackups {
    pub(super) config: Option<PathBuf>,
    pub(super) env: Option<PathBuf>,
}

/// config.toml and the `env` file, as they were read and with the edits.
pub(super) struct ConfigFiles {
    /// The section of the entries that are edited.
    section: &'static [&'static str],
    pub(super) dirs: Dirs,
    file: AgentFile,
    pub(super) config: ConfigDocument,
    variables: AgentFile,
    pub(super) env: EnvFile,
}

impl ConfigFiles {
    pub(super) fn read(section: &'static [&'static str]) -> Result<Self, CommandFailure> {
        let dirs = resolve_dirs()?;
        let file = AgentFile::read(&dirs.config_file())?;
        let config = file.parse(ConfigFormat::Toml)?;
        let variables = AgentFile::read(&dirs.env_file())?;
        let env = EnvFile::parse(&String::from_utf8_lossy(variables.bytes()));
        Ok(Self {
            section,
            dirs,
            file,
            config,
            variables,
            env,
        })
    }

    /// The entry that a new entry of this name replaces. Fails if the existing entry may not be replaced.
    pub(super) fn entry_to_replace(
        &self,
        name: &str,
        replace: bool,
    ) -> Result<Option<String>, CommandFailure> {
        for (section, what) in NAMESPACE_SECTIONS {
            let Some((known, _)) = self.config.find_spelled_entry(section, name) else {
                continue;
            };
            if *section == self.section && replace {
                return Ok(Some(known.to_owned()));
            }
            let message = format!("a {what} named `{known}` already exists");
            let hint = if *section == self.section {
                "--replace overwrites it".to_owned()
            } else {
                format!(
                    "servers and sources share one namespace; `mux {what}s remove {known}` frees the name"
                )
            };
            return Err(Error::new(Kind::Validation, message).hint(hint).into());
        }
        Ok(None)
    }

    /// Puts secrets into the file `env`.
    pub(super) fn set_secrets(&mut self, secrets: &[WithheldSecret]) -> Result<(), CommandFailure> {
        for WithheldSecret { variable, value } in secrets {
            if !self.env.set(variable, value.expose()) {
                return Err(line_break_error(variable).into());
            }
        }
        Ok(())
    }

    /// Puts a variable into the file `env`.
    pub(super) fn store_variable(name: &str, value: &str) -> Result<(), CommandFailure> {
        repeat_blocking_edit(|| {
            let mut files = Self::read(&["servers"])?;
            if !files.env.set(name, value) {
                return Err(line_break_error(name).into());
            }
            files.write(false)?;
            Ok(())
        })
    }

    /// True if the file `env` has these values already.
    pub(super) fn has_secrets(&self, secrets: &[WithheldSecret]) -> bool {
        let mut secrets = secrets.iter();
        secrets.all(|WithheldSecret { variable, value }| {
            self.env.get(variable) == Some(value.expose())
        })
    }

    pub(super) fn existing_entry_name(&self, name: &str) -> Result<String, CommandFailure> {
        if let Some((known, _)) = self.config.find_spelled_entry(self.section, name) {
            return Ok(known.to_owned());
        }
        let servers = self.config.section_entries(self.section);
        let known: Vec<&str> = servers.into_iter().map(|(known, _)| known).collect();
        let file = self.dirs.config_file();
        let message = format!(
            "there is no [{}.{name}] in {}",
            self.section.join("."),
            file.display()
        );
        let error = Error::new(Kind::NotFound, message);
        let mut others = NAMESPACE_SECTIONS
            .iter()
            .filter(|(section, _)| *section != self.section);
        let has_entry = |section: &[&str]| self.config.find_spelled_entry(section, name).is_some();
        if let Some((_, what)) = others.find(|(section, _)| has_entry(section)) {
            return Err(error
                .hint(format!("it is a {what}: see `mux {what}s --help`"))
                .into());
        }
        Err(match known.as_slice() {
            [] => error.into(),
            known => error
                .hint(format!("config.toml has: {}", known.join(", ")))
                .into(),
        })
    }

    pub(super) fn is_disabled(&self, name: &str) -> bool {
        let entry = self.config.find_section_entry(self.section, name);
        entry.and_then(|entry| entry.get("enabled")) == Some(&Value::Bool(false))
    }

    /// Writes the changes, and asks a running daemon for the resulting state of the server.
    pub(super) async fn write_and_refresh(
        self,
        mut edit: ServerEdit,
        loses: bool,
    ) -> Result<ServerEdit, CommandFailure> {
        let old = String::from_utf8_lossy(self.file.bytes()).into_owned();
        let new = self.config.text();
        let path = self.dirs.config_file();
        edit.diff = masked_diff(&old, &new, &agent_places()?.tilde_path(&path));
        edit.config = path;
        edit.changed = old != new || self.env.changed();
        if edit.changed && !edit.dry_run {
            edit.backup = self.write(loses)?.config;
            match refreshed_servers().await {
                Ok(None) => {}
                Ok(Some(servers)) => {
                    edit.reloaded = true;
                    edit.problem = problem_of(&servers, &edit.server);
                }
                Err(failure) => edit.not_reloaded = Some(failure.error.message),
            }
        }
        Ok(edit)
    }

    /// Writes the secrets first: an entry whose secret is missing would be refused, and a secret without an entry does no
    /// harm. Text that is lost is backed up.
    pub(super) fn write(&self, loses: bool) -> Result<ConfigBackups, CommandFailure> {
        let config = self.config.text();
        let mut backups = ConfigBackups::default();
        let lock = EditLock::take(&self.dirs)?;
        let now = SystemTime::now();
        if self.env.changed() {
            import::restrict_to_owner(&self.dirs.env_file())?;
            let text = self.env.text();
            if self.env.overwrote_value() {
                backups.env = self
                    .variables
                    .back_up_and_replace(text.as_bytes(), now, &lock)?;
            } else {
                self.variables.replace(text.as_bytes(), &lock)?;
            }
        }
        if config.as_bytes() == self.file.bytes() {
            return Ok(backups);
        }
        if !loses {
            self.file.replace(config.as_bytes(), &lock)?;
            return Ok(backups);
        }
        backups.config = self
            .file
            .back_up_and_replace(config.as_bytes(), now, &lock)?;
        for file in [self.dirs.config_file(), self.dirs.env_file()] {
            remove_older_files(list_backups(&file), MAX_KEPT_FILES);
        }
        Ok(backups)
    }
}

fn line_break_error(variable: &str) -> Error {
    let message = format!("the value of {variable} has a line break");
    Error::new(Kind::Validation, message)
        .hint("the file `env` cannot hold it; get it from a command: ${cmd:…}")
}

/// Why an entry cannot be used.
fn problem_of(servers: &[ServerInfo], name: &str) -> Option<String> {
    let mut found = servers.iter().filter(|server| server.name == name);
    let broken = found.find(|server| server.state == ServerState::Broken)?;
    broken.reason.clone()
}

/// The servers of the running daemon after a refresh, or `None` if no daemon runs.
async fn refreshed_servers() -> Result<Option<Vec<ServerInfo>>, CommandFailure> {
    let Some(session) = connect_if_running().await? else {
        return Ok(None);
    };
    session.client.refresh(within_seconds(60)).await??;
    Ok(Some(session.client.servers(within_seconds(10)).await??))
}
