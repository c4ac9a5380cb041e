//! What `mux install` did to the agents' files.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::{eprintln, println};
use mux_proto::Error;
use serde_json::{Value, json};

use super::{
    document, shown,
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, harmless, paint},
};
use crate::{agents::Agent, exit};

/// One agent's file.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) agent: Agent,
    /// Whether the agent seems to be here.
    pub(crate) found: bool,
    pub(crate) file: PathBuf,
    pub(crate) status: Status,
    /// What was kept of the file.
    pub(crate) backup: Option<PathBuf>,
    pub(crate) diff: String,
    pub(crate) error: Option<Error>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Status {
    Added,
    Updated,
    Unchanged,
    /// The file is as it was before us.
    Restored,
    Removed,
    /// There was nothing to take out.
    Absent,
    Failed,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Absent => "absent",
            Self::Failed => "failed",
        }
    }
}

impl Edit {
    pub(crate) fn failed(agent: Agent, file: PathBuf, found: bool, error: Error) -> Self {
        Self {
            agent,
            found,
            file,
            status: Status::Failed,
            backup: None,
            diff: String::new(),
            error: Some(error),
        }
    }

    fn document(&self) -> Value {
        let mut document = json!({
            "agent": self.agent.name(),
            "title": self.agent.title(),
            "file": self.file,
            "found": self.found,
            "status": self.status.name(),
            "backup": self.backup,
            "diff": self.diff,
        });
        if let Some(error) = &self.error {
            document["error"] = json!(error);
        }
        document
    }
}

/// An agent, and whether it leads to us.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) agent: Agent,
    pub(crate) found: bool,
    pub(crate) file: PathBuf,
    pub(crate) shown: String,
    /// The names of our entries there, or why they are not known.
    pub(crate) names: Result<Vec<String>, String>,
}

/// What was done; exits with 1 if some file had to be left alone, 3 if it could not be written.
pub(crate) fn edits(edits: &[Edit], name: &str, dry_run: bool, json: bool) -> ExitCode {
    let mut failures = edits.iter().filter_map(|edit| edit.error.as_ref());
    let code = failures.next().map_or(0, |error| exit::code(&error.kind));
    if json {
        let agents: Vec<Value> = edits.iter().map(Edit::document).collect();
        document(&json!({ "ok": code == 0, "dry_run": dry_run, "name": name, "agents": agents }));
        return ExitCode::from(code);
    }
    for (index, edit) in edits.iter().enumerate() {
        if index > 0 {
            println!();
        }
        one(edit, name, dry_run);
    }
    ExitCode::from(code)
}

fn one(edit: &Edit, name: &str, dry_run: bool) {
    let title = paint(STRONG, edit.agent.title());
    println!("{title}  {}", paint(DIM, shown(&edit.file)));
    if let Some(error) = &edit.error {
        eprintln!("{}: {}", paint(ERROR, "error"), harmless(&error.message));
        for line in error.hint.iter().flat_map(|hint| hint.lines()) {
            eprintln!("  {}", harmless(line));
        }
        return;
    }
    for line in edit.diff.lines() {
        let line = harmless(line);
        match line.as_bytes().first() {
            Some(b'+') => println!("{}", paint(GOOD, line)),
            Some(b'-') => println!("{}", paint(ERROR, line)),
            Some(b'@') => println!("{}", paint(DIM, line)),
            _ => println!("{line}"),
        }
    }
    if !edit.found {
        println!("{} seems not to be on this machine", edit.agent.title());
    }
    let would = if dry_run { "would be " } else { "" };
    match edit.status {
        Status::Added => println!("`{name}` {would}added"),
        Status::Updated => println!("`{name}` {would}brought up to date"),
        Status::Unchanged => println!("`{name}` is there already; nothing to change"),
        Status::Restored => println!("the file {would}restored to what it was before"),
        Status::Removed => println!("`{name}` {would}taken out"),
        Status::Absent => println!("no `{name}` is there; nothing to change"),
        Status::Failed => {}
    }
    if let Some(backup) = &edit.backup {
        println!("the file as it was: {}", shown(backup));
    }
}

/// All agents that we know.
pub(crate) fn known(agents: &[Known], json: bool) -> ExitCode {
    if json {
        let agents: Vec<Value> = agents
            .iter()
            .map(|known| {
                let mut document = json!({
                    "agent": known.agent.name(),
                    "title": known.agent.title(),
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
        document(&json!({ "agents": agents }));
        return ExitCode::SUCCESS;
    }
    for known in agents {
        let state = match &known.names {
            _ if !known.found => paint(DIM, "not found"),
            Err(problem) => paint(WARN, format!("cannot be read: {}", harmless(problem))),
            Ok(names) if names.is_empty() => "without mux".to_owned(),
            Ok(names) => paint(GOOD, format!("has mux as `{}`", names.join("`, `"))),
        };
        let name = format!("{:<15}", known.agent.name());
        println!("{}{state}  {}", paint(NAME, name), paint(DIM, &known.shown));
    }
    ExitCode::SUCCESS
}
