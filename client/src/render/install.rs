//! The output of `mux install`.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::{eprintln, keep_reports, println, report};
use mux_proto::Error;
use serde::Serialize;
use serde_json::json;

use super::{
    display_path, print_document, show,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, escape_text, paint, paint_diff_line},
};
use crate::agents::Agent;

/// An agent's file, and the outcome.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(crate) struct InstallEdit {
    pub(crate) agent: Agent,
    pub(crate) title: &'static str,
    pub(crate) file: PathBuf,
    /// True if the agent seems to be installed.
    pub(crate) found: bool,
    pub(crate) status: InstallStatus,
    /// The backup of the file.
    #[serialize_always]
    pub(crate) backup: Option<PathBuf>,
    pub(crate) diff: String,
    pub(crate) error: Option<Error>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InstallStatus {
    Added,
    Updated,
    Unchanged,
    /// The file was restored from the backup.
    Restored,
    Removed,
    /// There was no entry to remove.
    Absent,
    Failed,
}

impl InstallEdit {
    pub(crate) fn failed(agent: Agent, file: PathBuf, found: bool, error: Error) -> Self {
        Self {
            agent,
            title: agent.display_name(),
            file,
            found,
            status: InstallStatus::Failed,
            backup: None,
            diff: String::new(),
            error: Some(error),
        }
    }
}

/// An agent, and its entries that start `mux`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(crate) struct KnownAgent {
    pub(crate) agent: Agent,
    pub(crate) title: &'static str,
    pub(crate) file: PathBuf,
    pub(crate) found: bool,
    /// True if an entry starts `mux`.
    pub(crate) installed: bool,
    /// The names of the entries that start `mux`.
    pub(crate) names: Vec<String>,
    /// Why the file cannot be read.
    pub(crate) problem: Option<String>,
    #[serde(skip)]
    pub(crate) shown: String,
}

/// Prints the edits. Exits with 1 if a file could not be edited, with 3 if it could not be written.
pub(crate) fn edits(edits: &[InstallEdit], name: &str, dry_run: bool, json: bool) -> ExitCode {
    let mut failures = edits.iter().filter_map(|edit| edit.error.as_ref());
    let code = failures.next().map_or(0, |error| error.kind.exit_code());
    if json {
        print_document(
            &json!({ "ok": code == 0, "dry_run": dry_run, "name": name, "agents": edits }),
        );
        return ExitCode::from(code);
    }
    if dry_run {
        keep_reports();
    }
    for (index, edit) in edits.iter().enumerate() {
        if index > 0 {
            report!("");
        }
        print_install_edit(edit, name, dry_run);
    }
    ExitCode::from(code)
}

fn print_install_edit(edit: &InstallEdit, name: &str, dry_run: bool) {
    let title = paint(STRONG, edit.title);
    report!("{title}  {}", paint(DIM, display_path(&edit.file)));
    if let Some(error) = &edit.error {
        eprintln!("{}: {}", paint(ERROR, "error"), escape_text(&error.message));
        for line in error.hint.iter().flat_map(|hint| hint.lines()) {
            eprintln!("  {}", escape_text(line));
        }
        return;
    }
    for line in edit.diff.lines() {
        report!("{}", paint_diff_line(&escape_text(line)));
    }
    if !edit.found {
        report!("{} does not seem to be installed", edit.title);
    }
    let would = if dry_run { "would be " } else { "" };
    let is_or_would = if dry_run { "would be" } else { "is" };
    match edit.status {
        InstallStatus::Added => report!("`{name}` {would}added"),
        InstallStatus::Updated => report!("`{name}` {would}updated"),
        InstallStatus::Unchanged => report!("`{name}` already exists; nothing to change"),
        InstallStatus::Restored => report!("the file {is_or_would} as it was before `mux install`"),
        InstallStatus::Removed => report!("`{name}` {would}removed"),
        InstallStatus::Absent => report!("there is no `{name}`; nothing to change"),
        InstallStatus::Failed => {}
    }
    if let Some(backup) = &edit.backup {
        report!("backup: {}", display_path(backup));
    }
}

/// Prints all supported agents.
pub(crate) fn known(agents: &[KnownAgent], json: bool) -> ExitCode {
    show(&json!({ "agents": agents }), json, |_| {
        agents.iter().for_each(print_known_agent);
    })
}

fn print_known_agent(known: &KnownAgent) {
    let state = match &known.problem {
        _ if !known.found => paint(DIM, "not found"),
        Some(problem) => paint(WARN, format!("cannot be read: {}", escape_text(problem))),
        None if !known.installed => "without mux".to_owned(),
        None => paint(GOOD, format!("has mux as `{}`", known.names.join("`, `"))),
    };
    let name = format!("{:<15}", known.agent.name());
    println!("{}{state}  {}", paint(NAME, name), paint(DIM, &known.shown));
}
