//! The output of `mux init --undo`. The output contains no secret values.

use std::{path::PathBuf, process::ExitCode};

use mux_proto::Error;
use serde_json::{Value, json};

use super::{
    InstallEdit, InstallStatus, ServiceChange, UndoneMove, display_path,
    failure::print_error,
    init::step_verb,
    print_document,
    style::{DIM, paint},
    terminal::println,
    warn,
};
use crate::exit;

/// The changes that were undone, or would be.
#[derive(Debug, Default)]
pub(crate) struct InitUndo {
    pub(crate) dry_run: bool,
    pub(crate) moves: Vec<UndoneMove>,
    pub(crate) installs: Vec<InstallEdit>,
    /// The servers that were taken out of config.toml.
    pub(crate) removed: Vec<String>,
    /// The servers whose entries have since been changed, and stay.
    pub(crate) kept: Vec<String>,
    pub(crate) backup: Option<PathBuf>,
    pub(crate) service: Option<Result<ServiceChange, Error>>,
    /// The directory of the type checker, and why it could not be removed.
    pub(crate) compiler: Option<(PathBuf, Option<String>)>,
    pub(crate) not_reloaded: Option<String>,
}

impl InitUndo {
    pub(crate) fn errors(&self) -> Vec<Error> {
        let moves = self.moves.iter().filter_map(|undone| undone.error.clone());
        let installs = self.installs.iter().filter_map(|edit| edit.error.clone());
        let service = self
            .service
            .iter()
            .filter_map(|step| step.as_ref().err().cloned());
        let compiler = self.compiler.iter().filter_map(|(folder, problem)| {
            let problem = problem.as_ref()?;
            let message = format!("cannot remove {}: {problem}", folder.display());
            Some(exit::unavailable_error(message))
        });
        moves
            .chain(installs)
            .chain(service)
            .chain(compiler)
            .collect()
    }
}

/// Prints the undone changes. The exit code is that of the first error.
pub(crate) fn init_undone(undo: &InitUndo, json: bool) -> ExitCode {
    let errors = undo.errors();
    let code = errors.first().map_or(0, |error| error.kind.exit_code());
    if json {
        print_document(&document(undo, &errors));
        return ExitCode::from(code);
    }
    let verb = |plan: &str, done: &str| step_verb(undo.dry_run, plan, done);
    for undone in undo.moves.iter().filter(|undone| undone.error.is_none()) {
        let servers = undone.servers.join(", ");
        println!("{} {servers} back into", verb("put", "put"));
        println!(
            "  {}  {}",
            undone.agent.display_name(),
            display_path(&undone.file)
        );
    }
    let edits = undo.installs.iter().filter(|edit| {
        matches!(
            edit.status,
            InstallStatus::Removed | InstallStatus::Restored
        )
    });
    for edit in edits {
        println!("{} `mux mcp` out of", verb("take", "took"));
        println!(
            "  {}  {}",
            edit.agent.display_name(),
            display_path(&edit.file)
        );
    }
    if !undo.removed.is_empty() {
        println!(
            "{} {} from config.toml",
            verb("remove", "removed"),
            undo.removed.join(", ")
        );
        if let Some(backup) = &undo.backup {
            println!("  {} {}", paint(DIM, "backup:"), display_path(backup));
        }
    }
    for name in &undo.kept {
        println!(
            "{name} stays: its entry has changed since; `mux servers remove {name}` removes it"
        );
    }
    if let Some(Ok(change)) = &undo.service {
        println!(
            "{} the service {}",
            verb("uninstall", "uninstalled"),
            change.service
        );
    }
    if let Some((folder, None)) = &undo.compiler {
        println!(
            "{} the type checker in {}",
            verb("remove", "removed"),
            display_path(folder)
        );
    }
    if let Some(problem) = &undo.not_reloaded {
        warn(format!("{problem}; run `mux reload`"));
    }
    for error in &errors {
        print_error(error, None);
    }
    ExitCode::from(code)
}

fn document(undo: &InitUndo, errors: &[Error]) -> Value {
    json!({
        "ok": errors.is_empty(),
        "dry_run": undo.dry_run,
        "agents": undo.moves,
        "install": undo.installs,
        "removed": undo.removed,
        "kept": undo.kept,
        "backup": undo.backup,
        "service": undo.service.as_ref().and_then(|step| step.as_ref().ok()),
        "compiler": undo.compiler.as_ref().map(|(folder, _)| folder),
        "errors": errors,
    })
}
