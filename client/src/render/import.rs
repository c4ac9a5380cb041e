//! The output of `mux import`. The output contains no secret values.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::{eprintln, keep_reports, report};
use mux_proto::{Error, ReloadReport};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    display_path, extended,
    failure::print_error,
    human_units::count_text,
    note, print_document,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, escape_text, paint},
    warn,
};
use crate::{agents::Agent, known_sandboxes::proposal_command};

/// The result of an import.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ImportReport {
    dry_run: bool,
    pub(super) config: PathBuf,
    pub(super) env: PathBuf,
    /// The backups of config.toml and of `env`.
    pub(crate) backup: Option<PathBuf>,
    pub(crate) env_backup: Option<PathBuf>,
    pub(super) agents: Vec<AgentFileRead>,
    #[serde(rename = "servers")]
    pub(crate) carried: Vec<ImportedServer>,
    pub(crate) diff: String,
    /// The reload report of the running daemon.
    pub(crate) reloaded: Option<ReloadReport>,
    pub(crate) not_reloaded: Option<String>,
    /// Why no server could be moved.
    #[serde(rename = "error")]
    pub(crate) move_error: Option<Error>,
}

/// An agent's file that was read, or could not be.
#[derive(Debug, Serialize)]
pub(super) struct AgentFileRead {
    pub(super) agent: Agent,
    pub(super) file: PathBuf,
    notes: Vec<String>,
    pub(super) error: Option<Error>,
    /// The change of the file, if servers were moved out of it.
    pub(super) diff: Option<String>,
    pub(super) backup: Option<PathBuf>,
}

/// The change of a file from which servers were moved.
#[derive(Debug)]
pub(crate) struct FileMove {
    pub(crate) diff: String,
    /// `None` in a dry run.
    pub(crate) backup: Option<PathBuf>,
}

/// An agent's server, and the outcome.
#[derive(Debug, Serialize)]
pub(crate) struct ImportedServer {
    pub(crate) agent: Agent,
    /// The server's name in the agent's file.
    pub(crate) name: String,
    /// The server's name in config.toml.
    pub(crate) server: Option<String>,
    #[serde(rename = "status")]
    pub(crate) fate: ImportOutcome,
    /// True if the entry is removed from the agent's file.
    pub(crate) moved: bool,
    /// Why the entry stays in the agent's file, although it should have been moved.
    pub(crate) stays: Option<String>,
    pub(crate) enabled: bool,
    /// The variables in `env` with its secrets.
    pub(crate) secrets: Vec<String>,
    /// A sandbox that fits the server, if its entry is new and has none.
    pub(crate) proposed_sandbox: Option<Map<String, Value>>,
    /// Notes on settings that could not be imported.
    pub(crate) notes: Vec<String>,
    /// True if the entry starts mux itself.
    #[serde(skip)]
    pub(crate) is_mux: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
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

impl ImportReport {
    pub(crate) fn new(dry_run: bool, config: PathBuf, env: PathBuf) -> Self {
        Self {
            dry_run,
            config,
            env,
            ..Self::default()
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
            diff: None,
            backup: None,
        });
    }

    /// Adds the move of servers out of an agent's file.
    pub(crate) fn moved(&mut self, agent: Agent, moved: FileMove) {
        let read = self.read_of(agent);
        read.diff = Some(moved.diff);
        read.backup = moved.backup;
    }

    /// Adds why no server could be moved out of an agent's file.
    pub(crate) fn not_moved(&mut self, agent: Agent, error: Error) {
        self.read_of(agent).error = Some(error);
    }

    fn read_of(&mut self, agent: Agent) -> &mut AgentFileRead {
        let mut reads = self.agents.iter_mut();
        let found = reads.find(|read| read.agent == agent);
        found.expect("servers are moved only out of files that were read")
    }

    /// The servers that are written into config.toml.
    pub(crate) fn written(&self) -> impl Iterator<Item = &ImportedServer> {
        self.carried.iter().filter(|one| one.is_written())
    }

    pub(crate) fn errors(&self) -> impl Iterator<Item = &Error> {
        let files = self.agents.iter().filter_map(|read| read.error.as_ref());
        files.chain(&self.move_error)
    }

    /// Returns true if the import writes to a file.
    pub(crate) fn changes_files(&self) -> bool {
        self.written().next().is_some() || self.agents.iter().any(|read| read.diff.is_some())
    }

    fn code(&self) -> u8 {
        self.errors()
            .next()
            .map_or(0, |error| error.kind.exit_code())
    }

    pub(super) fn document(&self) -> impl Serialize + '_ {
        extended(self, "ok", Some(self.code() == 0))
    }
}

impl ImportedServer {
    pub(crate) fn stay(&mut self, reason: String) {
        self.moved = false;
        self.stays = Some(reason);
    }

    /// Returns true if its entry in config.toml is new or replaced.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.fate, ImportOutcome::Added | ImportOutcome::Replaced)
    }

    /// Returns true if config.toml has the server.
    pub(crate) fn is_in_config(&self) -> bool {
        self.is_written() || self.fate == ImportOutcome::Same
    }
}

/// Prints the result of an import. Exits with 1 if an agent's file could not be read.
pub(crate) fn imported(import: &ImportReport, json: bool) -> ExitCode {
    if json {
        print_document(&import.document());
        return ExitCode::from(import.code());
    }
    if import.dry_run {
        keep_reports();
    }
    for read in &import.agents {
        let title = paint(STRONG, read.agent.display_name());
        report!("{title}  {}", paint(DIM, display_path(&read.file)));
        if let Some(error) = &read.error {
            eprintln!("{}: {}", paint(ERROR, "error"), escape_text(&error.message));
        }
        let mut mine = import
            .carried
            .iter()
            .filter(|one| one.agent == read.agent)
            .peekable();
        if mine.peek().is_none() && read.error.is_none() {
            report!("  no servers");
        }
        for carried in mine {
            print_imported_server(carried, import.dry_run);
        }
        for line in &read.notes {
            report!("  {}", escape_text(line));
        }
        if let Some(backup) = &read.backup {
            report!("  backup: {}", display_path(backup));
        }
    }
    print_import_summary(import);
    if let Some(error) = &import.move_error {
        print_error(error, None);
    }
    ExitCode::from(import.code())
}

fn print_imported_server(carried: &ImportedServer, dry_run: bool) {
    let server = carried.server.as_deref().unwrap_or_default();
    let renamed = if server == carried.name {
        String::new()
    } else {
        format!(" as {}", paint(NAME, server))
    };
    let would = if dry_run { "would be " } else { "" };
    let fate = match carried.fate {
        ImportOutcome::Added => paint(GOOD, format!("{would}added")) + &renamed,
        ImportOutcome::Replaced => paint(WARN, format!("{would}replaced")) + &renamed,
        ImportOutcome::Same => format!("already exists{renamed}"),
        ImportOutcome::Kept => {
            paint(
                WARN,
                format!("left alone: your `{server}` is a different server"),
            ) + " (--replace overwrites it)"
        }
        ImportOutcome::Skipped => paint(DIM, "skipped"),
    };
    report!("  {} {fate}", paint(NAME, escape_text(&carried.name)));
    if carried.is_written() {
        if !carried.enabled {
            report!("    disabled (enabled = false)");
        }
        for name in &carried.secrets {
            report!("    a secret {would}stored in `env` as {name}");
        }
    }
    if let Some(sandbox) = &carried.proposed_sandbox {
        let command = proposal_command(server, sandbox);
        report!("    a sandbox that fits it: {}", escape_text(&command));
    }
    for line in &carried.notes {
        report!("    {}", escape_text(line));
    }
    if carried.moved {
        report!("    {would}{}", paint(GOOD, "removed from this file"));
    }
    if let Some(reason) = &carried.stays {
        report!(
            "    {}: {}",
            paint(WARN, "stays in this file"),
            escape_text(reason)
        );
    }
}

fn print_import_summary(import: &ImportReport) {
    if import.dry_run {
        let files = import.agents.iter().filter_map(|read| read.diff.as_ref());
        let diffs = files.chain([&import.diff]);
        for diff in diffs.filter(|diff| !diff.is_empty()) {
            report!("\n{}", escape_text(diff.trim_end()));
        }
        return;
    }
    let moved = import.carried.iter().filter(|one| one.moved).count();
    print_written_servers(import);
    if moved > 0 {
        report!(
            "moved {} out of the agents' files; restart the agents. `mux import --undo` puts them back",
            count_text(moved, "server")
        );
    }
}

fn print_written_servers(import: &ImportReport) {
    let servers = import.written().count();
    let config = display_path(&import.config);
    if servers == 0 {
        report!("nothing to change in {config}");
        return;
    }
    report!("{} written to {config}", count_text(servers, "server"));
    if let Some(backup) = &import.backup {
        report!("backup: {}", display_path(backup));
    }
    match (&import.reloaded, &import.not_reloaded) {
        (Some(report), _) => {
            report!("muxd has loaded it");
            for problem in &report.problems {
                warn(problem);
            }
        }
        (None, Some(problem)) => warn(format!("{problem}; run `mux reload`")),
        (None, None) => note("`mux servers` starts muxd, which loads it"),
    }
}
