//! Edits config.toml and the `env` file with the secrets: one entry at a time, with comments and order kept.
//!
//! Invariant: the files are edited here and never by a request to the daemon, so that a client that can only call
//! tools cannot add a program or an address.

use std::{path::PathBuf, time::SystemTime};

use mux_client::within_seconds;
use mux_proto::{Error, Kind, ServerInfo, endpoint::Dirs};
use serde_json::Value;

use super::{
    Failure, dirs,
    import::{self, EnvFile, WithheldSecret, clash, config_failure, file_failure},
    install::places,
    running,
};
use crate::{
    agents::{AgentFile, Document, DocumentError, Format, unified},
    render::ServerEdit,
};

/// The sections that share one namespace, each with the word for its entries.
const SECTIONS: &[(&[&str], &str)] = &[(&["servers"], "server"), (&["sources"], "source")];

pub(super) fn added(replaced: bool) -> &'static str {
    match replaced {
        true => "replaced",
        false => "added",
    }
}

/// config.toml and the `env` file, as they were read and with the edits.
pub(super) struct Files {
    /// The section of the entries that are edited.
    section: &'static [&'static str],
    pub(super) dirs: Dirs,
    file: AgentFile,
    pub(super) config: Document,
    variables: AgentFile,
    env: EnvFile,
}

impl Files {
    pub(super) fn read(section: &'static [&'static str]) -> Result<Self, Failure> {
        let dirs = dirs()?;
        let file = AgentFile::read(&dirs.config_file()).map_err(file_failure)?;
        let config = Document::parse(file.bytes(), Format::Toml)
            .map_err(|error| config_failure(&error, &dirs.config_file()))?;
        let variables = AgentFile::read(&dirs.env_file()).map_err(file_failure)?;
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

    /// The entry that has this name, or one that is the same identifier in programs.
    fn name_of(&self, section: &[&str], name: &str) -> Option<&str> {
        let servers = self.config.servers(section);
        let mut names = servers.into_iter().map(|(known, _)| known);
        names.find(|known| clash(known, name))
    }

    /// The entry that a new one of this name replaces. Fails if there is one that it may not replace.
    pub(super) fn replaced(&self, name: &str, replace: bool) -> Result<Option<String>, Failure> {
        for (section, what) in SECTIONS {
            let Some(known) = self.name_of(section, name) else {
                continue;
            };
            if *section == self.section && replace {
                return Ok(Some(known.to_owned()));
            }
            let message = format!("there is a {what} `{known}` already");
            let hint = match *section == self.section {
                true => "--replace overwrites it".to_owned(),
                false => format!(
                    "servers and sources share one namespace; `mux {what}s remove {known}` frees the name"
                ),
            };
            return Err(Error::new(Kind::Validation, message).hint(hint).into());
        }
        Ok(None)
    }

    /// Puts secrets into the file `env`.
    pub(super) fn keep(&mut self, secrets: &[WithheldSecret]) -> Result<(), Failure> {
        for WithheldSecret { variable, value } in secrets {
            if !self.env.set(variable, value.expose()) {
                let message = format!("the value of {variable} has a line break");
                return Err(Error::new(Kind::Validation, message)
                    .hint("the file `env` cannot hold it; get it from a command: ${cmd:…}")
                    .into());
            }
        }
        Ok(())
    }

    pub(super) fn existing(&self, name: &str) -> Result<String, Failure> {
        if let Some(known) = self.name_of(self.section, name) {
            return Ok(known.to_owned());
        }
        let servers = self.config.servers(self.section);
        let known: Vec<&str> = servers.into_iter().map(|(known, _)| known).collect();
        let file = self.dirs.config_file();
        let message = format!(
            "there is no [{}.{name}] in {}",
            self.section.join("."),
            file.display()
        );
        let error = Error::new(Kind::NotFound, message);
        let mut others = SECTIONS
            .iter()
            .filter(|(section, _)| *section != self.section);
        if let Some((_, what)) = others.find(|(section, _)| self.name_of(section, name).is_some()) {
            return Err(error
                .hint(format!("it is a {what}: see `mux {what}s --help`"))
                .into());
        }
        Err(match known.as_slice() {
            [] => error.into(),
            known => error
                .hint(format!("there are: {}", known.join(", ")))
                .into(),
        })
    }

    pub(super) fn is_off(&self, name: &str) -> bool {
        let entry = self.config.server(self.section, name);
        entry.and_then(|entry| entry.get("enabled")) == Some(&Value::Bool(false))
    }

    pub(super) fn retold(
        &self,
        edited: Result<String, DocumentError>,
    ) -> Result<Document, Failure> {
        let parsed = edited.and_then(|text| Document::parse(text.as_bytes(), Format::Toml));
        parsed.map_err(|error| config_failure(&error, &self.dirs.config_file()))
    }

    /// Writes the changes, and asks a running daemon for the resulting state of the server.
    pub(super) async fn finish(
        self,
        mut edit: ServerEdit,
        loses: bool,
    ) -> Result<ServerEdit, Failure> {
        let old = String::from_utf8_lossy(self.file.bytes()).into_owned();
        let new = self.config.text();
        let path = self.dirs.config_file();
        edit.diff = unified(&old, &new, &places()?.short(&path));
        edit.config = path;
        edit.changed = old != new || self.env.changed();
        if edit.changed && !edit.dry_run {
            edit.backup = self.write(&new, loses)?;
            match verdict(&edit.server).await {
                Ok(verdict) => edit.verdict = verdict,
                Err(error) => edit.not_reloaded = Some(error.message),
            }
        }
        Ok(edit)
    }

    /// Writes the secrets first: an entry whose secret is missing would be refused. Text that is lost is backed up.
    fn write(&self, config: &str, loses: bool) -> Result<Option<PathBuf>, Failure> {
        import::prepare(&self.dirs)?;
        let now = SystemTime::now();
        if self.env.changed() {
            import::close(&self.dirs.env_file())?;
            if self.env.wrote_over() {
                self.variables.back_up(now).map_err(file_failure)?;
            }
            let text = self.env.text();
            self.variables
                .replace(text.as_bytes())
                .map_err(file_failure)?;
        }
        if config.as_bytes() == self.file.bytes() {
            return Ok(None);
        }
        let backup = match loses {
            true => self.file.back_up(now).map_err(file_failure)?,
            false => None,
        };
        self.file.replace(config.as_bytes()).map_err(file_failure)?;
        Ok(backup)
    }
}

/// The state of a server in the running daemon, after a refresh: `None` if no daemon runs, `Some(None)` if it does not
/// know the server.
async fn verdict(server: &str) -> Result<Option<Option<ServerInfo>>, Error> {
    let Some(session) = running().await.map_err(|failure| failure.error)? else {
        return Ok(None);
    };
    session.require("refresh")?;
    let answer = session.client.refresh(within_seconds(60)).await;
    answer.map_err(|error| Failure::from(error).error)??;
    let servers = session.client.servers(within_seconds(10)).await;
    let servers = servers.map_err(|error| Failure::from(error).error)??;
    Ok(Some(servers.into_iter().find(|info| info.name == server)))
}
