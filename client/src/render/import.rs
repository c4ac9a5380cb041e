//! The output of `mux import`. It contains no values of secrets.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::{eprintln, println};
use mux_proto::{Error, ReloadReport};
use serde_json::{Value, json};

use super::{
    amounts::count,
    document, note, shown,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, harmless, paint},
    warn,
};
use crate::{agents::Agent, exit};

/// The result of an import.
#[derive(Debug)]
pub(crate) struct Import {
    dry_run: bool,
    config: PathBuf,
    env: PathBuf,
    agents: Vec<Read>,
    pub(crate) carried: Vec<Carried>,
    pub(crate) diff: String,
    /// The backups of config.toml and of `env`.
    pub(crate) backup: Option<PathBuf>,
    pub(crate) env_backup: Option<PathBuf>,
    /// The reload report of the running daemon.
    pub(crate) reloaded: Option<ReloadReport>,
    pub(crate) not_reloaded: Option<String>,
}

/// An agent's file that was read, or could not be.
#[derive(Debug)]
struct Read {
    agent: Agent,
    file: PathBuf,
    notes: Vec<String>,
    error: Option<Error>,
}

/// A server of an agent, and what was done with it.
#[derive(Debug)]
pub(crate) struct Carried {
    pub(crate) agent: Agent,
    /// The server's name in the agent's file.
    pub(crate) name: String,
    /// The server's name in config.toml.
    pub(crate) server: Option<String>,
    pub(crate) fate: Fate,
    pub(crate) disabled: bool,
    /// Notes on what could not be imported.
    pub(crate) notes: Vec<String>,
    /// The variables in `env` that hold its secrets.
    pub(crate) secrets: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fate {
    Added,
    Replaced,
    /// The same entry exists already.
    Same,
    /// An entry of this name is another server, and is kept.
    Kept,
    /// The entry cannot be imported.
    Skipped,
}

impl Fate {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Replaced => "replaced",
            Self::Same => "same",
            Self::Kept => "kept",
            Self::Skipped => "skipped",
        }
    }
}

impl Import {
    pub(crate) fn new(dry_run: bool, config: PathBuf, env: PathBuf) -> Self {
        Self {
            dry_run,
            config,
            env,
            agents: Vec::new(),
            carried: Vec::new(),
            diff: String::new(),
            backup: None,
            env_backup: None,
            reloaded: None,
            not_reloaded: None,
        }
    }

    /// Adds the result of reading an agent's file.
    pub(crate) fn read(&mut self, agent: Agent, file: PathBuf, notes: Result<Vec<String>, Error>) {
        let (notes, error) = match notes {
            Ok(notes) => (notes, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        self.agents.push(Read {
            agent,
            file,
            notes,
            error,
        });
    }

    fn code(&self) -> u8 {
        let mut errors = self.agents.iter().filter_map(|read| read.error.as_ref());
        errors.next().map_or(0, |error| exit::code(&error.kind))
    }

    fn document(&self) -> Value {
        let agents: Vec<Value> = self
            .agents
            .iter()
            .map(|read| {
                json!({
                    "agent": read.agent.name(),
                    "file": read.file,
                    "notes": read.notes,
                    "error": read.error,
                })
            })
            .collect();
        let servers: Vec<Value> = self.carried.iter().map(Carried::document).collect();
        json!({
            "ok": self.code() == 0,
            "dry_run": self.dry_run,
            "config": self.config,
            "env": self.env,
            "backup": self.backup,
            "env_backup": self.env_backup,
            "agents": agents,
            "servers": servers,
            "diff": self.diff,
            "reloaded": self.reloaded,
            "not_reloaded": self.not_reloaded,
        })
    }
}

impl Carried {
    fn document(&self) -> Value {
        json!({
            "agent": self.agent.name(),
            "name": self.name,
            "server": self.server,
            "status": self.fate.name(),
            "enabled": !self.disabled,
            "secrets": self.secrets,
            "notes": self.notes,
        })
    }
}

/// Prints the result of an import. Exits with 1 if an agent's file could not be read.
pub(crate) fn imported(import: &Import, json: bool) -> ExitCode {
    if json {
        document(&import.document());
        return ExitCode::from(import.code());
    }
    for read in &import.agents {
        let title = paint(STRONG, read.agent.title());
        println!("{title}  {}", paint(DIM, shown(&read.file)));
        if let Some(error) = &read.error {
            eprintln!("{}: {}", paint(ERROR, "error"), harmless(&error.message));
        }
        let mut mine = import
            .carried
            .iter()
            .filter(|one| one.agent == read.agent)
            .peekable();
        if mine.peek().is_none() && read.error.is_none() {
            println!("  no servers");
        }
        for carried in mine {
            one(carried, import.dry_run);
        }
        for line in &read.notes {
            println!("  {}", harmless(line));
        }
    }
    end(import);
    ExitCode::from(import.code())
}

fn one(carried: &Carried, dry_run: bool) {
    let server = carried.server.as_deref().unwrap_or_default();
    let renamed = match server == carried.name {
        true => String::new(),
        false => format!(" as {}", paint(NAME, server)),
    };
    let would = if dry_run { "would be " } else { "" };
    let fate = match carried.fate {
        Fate::Added => paint(GOOD, format!("{would}added")) + &renamed,
        Fate::Replaced => paint(WARN, format!("{would}replaced")) + &renamed,
        Fate::Same => format!("already exists{renamed}"),
        Fate::Kept => {
            paint(
                WARN,
                format!("left alone: the `{server}` you have is another server"),
            ) + " (--replace overwrites it)"
        }
        Fate::Skipped => paint(DIM, "skipped"),
    };
    println!("  {} {fate}", paint(NAME, harmless(&carried.name)));
    if matches!(carried.fate, Fate::Added | Fate::Replaced) {
        if carried.disabled {
            println!("    disabled (enabled = false)");
        }
        for name in &carried.secrets {
            println!("    a secret {would}stored in `env` as {name}");
        }
    }
    for line in &carried.notes {
        println!("    {}", harmless(line));
    }
}

fn end(import: &Import) {
    let changed = |one: &&Carried| matches!(one.fate, Fate::Added | Fate::Replaced);
    let servers = import.carried.iter().filter(changed).count();
    let config = shown(&import.config);
    if import.dry_run {
        if !import.diff.is_empty() {
            println!("\n{}", harmless(import.diff.trim_end()));
        }
        return;
    }
    if servers == 0 {
        println!("nothing to change in {config}");
        return;
    }
    println!("{} written to {config}", count(servers, "server"));
    if let Some(backup) = &import.backup {
        println!("backup: {}", shown(backup));
    }
    match (&import.reloaded, &import.not_reloaded) {
        (Some(report), _) => {
            println!("muxd has read it");
            for problem in &report.problems {
                warn(problem);
            }
        }
        (None, Some(problem)) => warn(format!("{problem}; run `mux reload`")),
        (None, None) => note("`mux servers` starts muxd, which reads it"),
    }
}
