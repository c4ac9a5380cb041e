//! The output of `mux import --undo`. The output contains no secret values.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::terminal::{keep_reports, report};
use mux_proto::Error;
use serde::Serialize;
use serde_json::json;

use super::{
    display_path,
    failure::print_error,
    note, print_document,
    style::{DIM, GOOD, NAME, STRONG, escape_text, paint},
};
use crate::agents::Agent;

/// An agent's file into which servers were put back.
#[derive(Debug, Serialize)]
pub(crate) struct UndoneMove {
    pub(crate) agent: Agent,
    pub(crate) file: PathBuf,
    /// The server names, without the servers that are back in the file.
    pub(crate) servers: Vec<String>,
    pub(crate) diff: String,
    /// The backup of the file, unless the file is now as it was before the move.
    pub(crate) backup: Option<PathBuf>,
    pub(crate) error: Option<Error>,
}

impl UndoneMove {
    pub(crate) fn failed(agent: Agent, file: &Path, error: Error) -> Self {
        Self {
            agent,
            file: file.to_owned(),
            servers: Vec::new(),
            diff: String::new(),
            backup: None,
            error: Some(error),
        }
    }
}

/// Prints the entries that were put back. The exit code is that of the first error.
pub(crate) fn moves_undone(undone: &[UndoneMove], dry_run: bool, json: bool) -> ExitCode {
    let mut errors = undone.iter().filter_map(|one| one.error.as_ref());
    let code = errors.next().map_or(0, |error| error.kind.exit_code());
    if json {
        print_document(&json!({ "ok": code == 0, "dry_run": dry_run, "agents": undone }));
        return ExitCode::from(code);
    }
    if dry_run {
        keep_reports();
    }
    if undone.is_empty() {
        report!("no server was moved out of an agent's file; nothing to change");
    }
    for one in undone {
        print_undone_move(one, dry_run);
    }
    if !dry_run && undone.iter().any(|one| !one.servers.is_empty()) {
        note(
            "restart the agents. config.toml still has these servers, so they run twice in an agent that has mux; \
             `mux servers remove NAME` removes one there",
        );
    }
    ExitCode::from(code)
}

fn print_undone_move(undone: &UndoneMove, dry_run: bool) {
    let title = paint(STRONG, undone.agent.display_name());
    report!("{title}  {}", paint(DIM, display_path(&undone.file)));
    if let Some(error) = &undone.error {
        print_error(error, None);
        return;
    }
    if dry_run && !undone.diff.is_empty() {
        report!("{}", escape_text(undone.diff.trim_end()));
    }
    let would = if dry_run { "would be " } else { "" };
    for name in &undone.servers {
        let name = paint(NAME, escape_text(name));
        report!("  {name} {}", paint(GOOD, format!("{would}put back")));
    }
    if undone.servers.is_empty() {
        report!("  the file has all its servers; nothing to change");
    }
    if let Some(backup) = &undone.backup {
        report!("  backup: {}", display_path(backup));
    }
}
