//! `mux servers add`, `remove`, `enable`, `disable`: the user's configuration, edited as he would.
//!
//! Invariant: the file is edited here and by no request to the daemon, so that nobody who can only call
//! tools can add a program. An edit touches one entry, and secrets go into the `env` file.

mod entry;

use std::{path::PathBuf, time::SystemTime};

use mux_client::within_seconds;
use mux_proto::{Error, Kind, ServerInfo, endpoint::Dirs};
use serde_json::{Value, json};

use self::entry::{definition, entry};
use super::{
    Failure, Outcome, dirs,
    import::{
        self, EnvFile, IDENTITY, Secret, clash, config_failure, file_failure, over, withhold,
    },
    install::places,
    running,
};
use crate::{
    agents::{AgentFile, Document, DocumentError, Format, unified},
    args,
    render::{self, ServerEdit},
};

const SECTION: &[&str] = &["servers"];
/// What `--replace` takes away with the old entry.
const REPLACED: &[&str] = &["transport", "socket", "oauth"];

pub(super) async fn add(args: &args::AddServer, json: bool) -> Outcome {
    let mut files = Files::read()?;
    let known = files.name_of(&args.name);
    if let Some(known) = known.filter(|_| !args.replace) {
        let message = format!("there is a server `{known}` already");
        return Err(Error::new(Kind::Validation, message)
            .hint("--replace writes over it")
            .into());
    }
    let replaced = known.map(str::to_owned);
    let name = replaced.clone().unwrap_or_else(|| args.name.clone());
    let (open, secrets) = withhold(&definition(args)?, &name);
    let mut entry = entry(&open, args);
    if let Some(old) = files.config.server(SECTION, &name) {
        // Whether it is used is not said anew.
        entry.remove("enabled");
        let old = old.as_object().into_iter().flatten();
        let stale = old.map(|(key, _)| key.clone());
        let stale: Vec<String> = stale
            .filter(|key| REPLACED.contains(&key.as_str()) && !entry.contains_key(key))
            .collect();
        for key in stale {
            files.config = files.retold(files.config.take(&[SECTION[0], &name], &key))?;
        }
    }
    let edited = over(&files.config, SECTION, &name, &entry, IDENTITY);
    files.config = edited.map_err(|error| config_failure(&error, &files.dirs.config_file()))?;
    for Secret { variable, value } in &secrets {
        if !files.env.set(variable, value) {
            let message = format!("the value of {variable} has a line break");
            return Err(Error::new(Kind::Validation, message)
                .hint("the file `env` cannot hold it; let a command tell it: ${cmd:…}")
                .into());
        }
    }
    let change = if replaced.is_some() {
        "replaced"
    } else {
        "added"
    };
    let mut edit = ServerEdit::new(&name, change, args.dry_run);
    edit.secrets = secrets.into_iter().map(|secret| secret.variable).collect();
    files.finish(edit, replaced.is_some(), json).await
}

pub(super) async fn remove(args: &args::ChangeServer, json: bool) -> Outcome {
    let mut files = Files::read()?;
    let name = files.existing(&args.name)?;
    files.config = files.retold(files.config.take(SECTION, &name))?;
    let edit = ServerEdit::new(&name, "removed", args.dry_run);
    files.finish(edit, true, json).await
}

pub(super) async fn enable(args: &args::ChangeServer, json: bool) -> Outcome {
    let mut files = Files::read()?;
    let name = files.existing(&args.name)?;
    if files.is_off(&name) {
        files.config = files.retold(files.config.take(&[SECTION[0], &name], "enabled"))?;
    }
    let edit = ServerEdit::new(&name, "enabled", args.dry_run);
    files.finish(edit, false, json).await
}

pub(super) async fn disable(args: &args::ChangeServer, json: bool) -> Outcome {
    let mut files = Files::read()?;
    let name = files.existing(&args.name)?;
    if !files.is_off(&name) {
        let off = json!({ "enabled": false });
        files.config = files.retold(files.config.put(SECTION, &name, &off))?;
    }
    let edit = ServerEdit::new(&name, "disabled", args.dry_run);
    files.finish(edit, false, json).await
}

/// Our two files, as they were and as they become.
struct Files {
    dirs: Dirs,
    file: AgentFile,
    config: Document,
    variables: AgentFile,
    env: EnvFile,
}

impl Files {
    fn read() -> Result<Self, Failure> {
        let dirs = dirs()?;
        let file = AgentFile::read(&dirs.config_file()).map_err(file_failure)?;
        let config = Document::parse(file.bytes(), Format::Toml)
            .map_err(|error| config_failure(&error, &dirs.config_file()))?;
        let variables = AgentFile::read(&dirs.env_file()).map_err(file_failure)?;
        let env = EnvFile::parse(&String::from_utf8_lossy(variables.bytes()));
        Ok(Self {
            dirs,
            file,
            config,
            variables,
            env,
        })
    }

    /// The entry that has this name, or one that programs could not tell from it.
    fn name_of(&self, name: &str) -> Option<&str> {
        let servers = self.config.servers(SECTION);
        let mut names = servers.into_iter().map(|(known, _)| known);
        names.find(|known| clash(known, name))
    }

    fn existing(&self, name: &str) -> Result<String, Failure> {
        if let Some(known) = self.name_of(name) {
            return Ok(known.to_owned());
        }
        let servers = self.config.servers(SECTION);
        let known: Vec<&str> = servers.into_iter().map(|(known, _)| known).collect();
        let file = self.dirs.config_file();
        let message = format!("there is no [servers.{name}] in {}", file.display());
        let error = Error::new(Kind::NotFound, message);
        Err(match known.as_slice() {
            [] => error.into(),
            known => error
                .hint(format!("there are: {}", known.join(", ")))
                .into(),
        })
    }

    fn is_off(&self, name: &str) -> bool {
        let entry = self.config.server(SECTION, name);
        entry.and_then(|entry| entry.get("enabled")) == Some(&Value::Bool(false))
    }

    fn retold(&self, edited: Result<String, DocumentError>) -> Result<Document, Failure> {
        let parsed = edited.and_then(|text| Document::parse(text.as_bytes(), Format::Toml));
        parsed.map_err(|error| config_failure(&error, &self.dirs.config_file()))
    }

    /// Writes what has changed, and lets the daemon that runs say what it makes of it.
    async fn finish(self, mut edit: ServerEdit, loses: bool, json: bool) -> Outcome {
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
        Ok(render::server_edit(&edit, json))
    }

    /// The secrets first: an entry whose secret is missing would be refused. What is lost is kept beside.
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

/// What the daemon that runs makes of a server: nothing if it does not know it any more. `None`: no daemon
/// runs.
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
