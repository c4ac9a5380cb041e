//! The output of `mux import`. It contains no values of secrets.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::{eprintln, println};
use mux_proto::{Error, ReloadReport};
use serde_json::{Value, json};

use super::{
    amounts::count_text,
    display_path, note, print_document,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, escape_text, paint},
    warn,
};
use crate::{agents::Agent, exit};

/// The result of an import.
#[derive(Debug)]
pub(crate) struct ImportReport {
    dry_run: bool,
    config: PathBuf,
    env: PathBuf,
    agents: Vec<AgentFileRead>,
    pub(crate) carried: Vec<ImportedServer>,
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
struct AgentFileRead {
    agent: Agent,
    file: PathBuf,
    notes: Vec<String>,
    error: Option<Error>,
}

/// A server of an agent, and what was done with it.
#[derive(Debug)]
pub(crate) struct ImportedServer {
    pub(crate) agent: Agent,
    /// The server's name in the agent's file.
    pub(crate) name: String,
    /// The server's name in config.toml.
    pub(crate) server: Option<String>,
    pub(crate) fate: ImportOutcome,
    pub(crate) disabled: bool,
    /// Notes on what could not be imported.
    pub(crate) notes: Vec<String>,
    /// The variables in `env` that hold its secrets.
    pub(crate) secrets: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ImportOutcome {
    Added,
    Replaced,
    /// The same entry exists already.
    Same,
    /// An entry of this name is another server, and is kept.
    Kept,
    /// The entry cannot be imported.
    Skipped,
}

impl ImportOutcome {
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

impl ImportReport {
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
        self.agents.push(AgentFileRead {
            agent,
            file,
            notes,
            error,
        });
    }

    fn code(&self) -> u8 {
        let mut errors = self.agents.iter().filter_map(|read| read.error.as_ref());
        errors
            .next()
            .map_or(0, |error| exit::exit_code_of(&error.kind))
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
        let servers: Vec<Value> = self.carried.iter().map(ImportedServer::document).collect();
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

impl ImportedServer {
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
pub(crate) fn imported(import: &ImportReport, json: bool) -> ExitCode {
    if json {
        print_document(&import.document());
        return ExitCode::from(import.code());
    }
    for read in &import.agents {
        let title = paint(STRONG, read.agent.display_name());
        println!("{title}  {}", paint(DIM, display_path(&read.file)));
        if let Some(error) = &read.error {
            eprintln!("{}: {}", paint(ERROR, "error"), escape_text(&error.message));
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
            print_imported_server(carried, import.dry_run);
        }
        for line in &read.notes {
            println!("  {}", escape_text(line));
        }
    }
    print_import_summary(import);
    ExitCode::from(import.code())
}

fn print_imported_server(carried: &ImportedServer, dry_run: bool) {
    let server = carried.server.as_deref().unwrap_or_default();
    let renamed = match server == carried.name {
        true => String::new(),
        false => format!(" as {}", paint(NAME, server)),
    };
    let would = if dry_run { "would be " } else { "" };
    let fate = match carried.fate {
        ImportOutcome::Added => paint(GOOD, format!("{would}added")) + &renamed,
        ImportOutcome::Replaced => paint(WARN, format!("{would}replaced")) + &renamed,
        ImportOutcome::Same => format!("already exists{renamed}"),
        ImportOutcome::Kept => {
            paint(
                WARN,
                format!("left alone: the `{server}` you have is another server"),
            ) + " (--replace overwrites it)"
        }
        ImportOutcome::Skipped => paint(DIM, "skipped"),
    };
    println!("  {} {fate}", paint(NAME, escape_text(&carried.name)));
    if matches!(carried.fate, ImportOutcome::Added | ImportOutcome::Replaced) {
        if carried.disabled {
            println!("    disabled (enabled = false)");
        }
        for name in &carried.secrets {
            println!("    a secret {would}stored in `env` as {name}");
        }
    }
    for line in &carried.notes {
        println!("    {}", escape_text(line));
    }
}

fn print_import_summary(import: &ImportReport) {
    let changed =
        |one: &&ImportedServer| matches!(one.fate, ImportOutcome::Added | ImportOutcome::Replaced);
    let servers = import.carried.iter().filter(changed).count();
    let config = display_path(&import.config);
    if import.dry_run {
        if !import.diff.is_empty() {
            println!("\n{}", escape_text(import.diff.trim_end()));
        }
        return;
    }
    if servers == 0 {
        println!("nothing to change in {config}");
        return;
    }
    println!("{} written to {config}", count_text(servers, "server"));
    if let Some(backup) = &import.backup {
        println!("backup: {}", display_path(backup));
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
