//! The output of `mux install`.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::{eprintln, keep_reports, println, report};
use mux_proto::Error;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    display_path, print_document,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, escape_text, paint},
};
use crate::agents::Agent;

/// An agent's file, and the outcome.
#[derive(Debug)]
pub(crate) struct InstallEdit {
    pub(crate) agent: Agent,
    /// True if the agent seems to be installed.
    pub(crate) found: bool,
    pub(crate) file: PathBuf,
    pub(crate) status: InstallStatus,
    /// The backup of the file.
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
            found,
            file,
            status: InstallStatus::Failed,
            backup: None,
            diff: String::new(),
            error: Some(error),
        }
    }

    pub(super) fn document(&self) -> Value {
        let mut document = json!({
            "agent": self.agent.name(),
            "title": self.agent.display_name(),
            "file": self.file,
            "found": self.found,
            "status": self.status,
            "backup": self.backup,
            "diff": self.diff,
        });
        if let Some(error) = &self.error {
            document["error"] = json!(error);
        }
        document
    }
}

/// An agent, and its entries that start `mux`.
#[derive(Debug)]
pub(crate) struct KnownAgent {
    pub(crate) agent: Agent,
    pub(crate) found: bool,
    pub(crate) file: PathBuf,
    pub(crate) shown: String,
    /// The names of the entries that start `mux`, or why the file cannot be read.
    pub(crate) names: Result<Vec<String>, String>,
}

/// Prints the edits. Exits with 1 if a file could not be edited, with 3 if it could not be written.
pub(crate) fn edits(edits: &[InstallEdit], name: &str, dry_run: bool, json: bool) -> ExitCode {
    let mut failures = edits.iter().filter_map(|edit| edit.error.as_ref());
    let code = failures.next().map_or(0, |error| error.kind.exit_code());
    if json {
        let agents: Vec<Value> = edits.iter().map(InstallEdit::document).collect();
        print_document(
            &json!({ "ok": code == 0, "dry_run": dry_run, "name": name, "agents": agents }),
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
    let title = paint(STRONG, edit.agent.display_name());
    report!("{title}  {}", paint(DIM, display_path(&edit.file)));
    if let Some(error) = &edit.error {
        eprintln!("{}: {}", paint(ERROR, "error"), escape_text(&error.message));
        for line in error.hint.iter().flat_map(|hint| hint.lines()) {
            eprintln!("  {}", escape_text(line));
        }
        return;
    }
    for line in edit.diff.lines() {
        let line = escape_text(line);
        match line.as_bytes().first() {
            Some(b'+') => report!("{}", paint(GOOD, line)),
            Some(b'-') => report!("{}", paint(ERROR, line)),
            Some(b'@') => report!("{}", paint(DIM, line)),
            _ => report!("{line}"),
        }
    }
    if !edit.found {
        report!(
            "{} does not seem to be installed",
            edit.agent.display_name()
        );
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
    if json {
        let agents: Vec<Value> = agents
            .iter()
            .map(|known| {
                let mut document = json!({
                    "agent": known.agent.name(),
                    "title": known.agent.display_name(),
                    "file": known.file,
                    "found": known.found,
                    "installed": known.names.as_ref().is_ok_and(|names| !names.is_empty()),
                    "names": known.names.as_deref().unwrap_or_default(),
                });
                if let Err(problem) = &known.names {
                    document["problem"] = problem.as_str().into();
                }
                document
            })
            .collect();
        print_document(&json!({ "agents": agents }));
        return ExitCode::SUCCESS;
    }
    for known in agents {
        let state = match &known.names {
            _ if !known.found => paint(DIM, "not found"),
            Err(problem) => paint(WARN, format!("cannot be read: {}", escape_text(problem))),
            Ok(names) if names.is_empty() => "without mux".to_owned(),
            Ok(names) => paint(GOOD, format!("has mux as `{}`", names.join("`, `"))),
        };
        let name = format!("{:<15}", known.agent.name());
        println!("{}{state}  {}", paint(NAME, name), paint(DIM, &known.shown));
    }
    ExitCode::SUCCESS
}
