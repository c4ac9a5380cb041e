//! The output for edits of config.toml, with the daemon's response. The output contains no secret values.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::{println, report};
use mux_proto::{AuthState, Error, Kind, ServerInfo, ServerState, SourceNote};
use serde_json::{Map, Value, json};

use super::{
    display_path, failure::print_error, human_units, note, print_document, style::escape_text, warn,
};
use crate::{exit, known_sandboxes::proposal_command};

/// An edit of config.toml.
#[derive(Debug)]
pub(crate) struct ServerEdit {
    pub(crate) server: String,
    /// `server` or `source`.
    kind: &'static str,
    /// `added`, `replaced`, `removed`, `enabled`, `disabled` or `unchanged`.
    pub(crate) change: &'static str,
    pub(crate) dry_run: bool,
    /// True if the files were changed.
    pub(crate) changed: bool,
    pub(crate) config: PathBuf,
    pub(crate) diff: String,
    /// The variables of the `env` file with its secrets.
    pub(crate) secrets: Vec<String>,
    pub(crate) backup: Option<PathBuf>,
    /// The server as the running daemon sees it after the reload. The inner `None` means that the daemon does not
    /// list it.
    pub(crate) verdict: Option<Option<ServerInfo>>,
    pub(crate) not_reloaded: Option<String>,
    /// The added server once it was connected to, or why that failed.
    pub(crate) connected: Option<Result<ServerInfo, Error>>,
    /// A sandbox that fits the added server.
    pub(crate) proposed_sandbox: Option<Map<String, Value>>,
    /// The functions of an added source, or why they are unknown.
    pub(crate) offered: Option<Result<OfferedFunctions, Error>>,
}

/// The functions of a source.
#[derive(Debug)]
pub(crate) struct OfferedFunctions {
    pub(crate) functions: usize,
    /// The paths of the first functions.
    pub(crate) some: Vec<String>,
    /// The security schemes for which no credential is given.
    pub(crate) missing: Vec<String>,
    /// Further notes, each with a fix.
    pub(crate) notes: Vec<SourceNote>,
}

impl ServerEdit {
    pub(crate) fn new(server: &str, change: &'static str, dry_run: bool) -> Self {
        Self {
            server: server.to_owned(),
            kind: "server",
            change,
            dry_run,
            changed: false,
            config: PathBuf::new(),
            diff: String::new(),
            secrets: Vec::new(),
            backup: None,
            verdict: None,
            not_reloaded: None,
            connected: None,
            proposed_sandbox: None,
            offered: None,
        }
    }

    pub(crate) fn source(source: &str, change: &'static str, dry_run: bool) -> Self {
        Self {
            kind: "source",
            ..Self::new(source, change, dry_run)
        }
    }

    /// Why the server's entry is unusable.
    fn problem(&self) -> Option<&str> {
        let info = self.verdict.as_ref()?.as_ref()?;
        let broken = info.state == ServerState::Broken;
        info.reason.as_deref().filter(|_| broken)
    }

    /// Why the server that was added does not start. One that requires a login works.
    fn failure(&self) -> Option<&Error> {
        let failure = self.connected.as_ref()?.as_ref().err();
        failure.filter(|error| error.kind != Kind::AuthRequired)
    }

    fn code(&self) -> ExitCode {
        let code = self.failure().map(|error| exit::exit_code_of(&error.kind));
        code.map_or(ExitCode::SUCCESS, ExitCode::from)
    }
}

pub(crate) fn server_edit(edit: &ServerEdit, json: bool) -> ExitCode {
    if json {
        let mut document = json!({
            "ok": edit.failure().is_none(),
            edit.kind: edit.server,
            "change": edit.change,
            "changed": edit.changed,
            "dry_run": edit.dry_run,
            "config": edit.config,
            "diff": edit.diff,
            "secrets": edit.secrets,
            "backup": edit.backup,
            "reloaded": edit.verdict.is_some(),
            "not_reloaded": edit.not_reloaded,
            "problem": edit.problem(),
            "proposed_sandbox": edit.proposed_sandbox,
        });
        match &edit.offered {
            Some(Ok(offered)) => {
                document["functions"] = offered.functions.into();
                document["missing"] = json!(offered.missing);
                document["notes"] = json!(offered.notes);
            }
            Some(Err(error)) => document["problem"] = error.message.as_str().into(),
            None => {}
        }
        match &edit.connected {
            Some(Ok(info)) => document["connected"] = json!(info),
            Some(Err(error)) if error.kind == Kind::AuthRequired => {
                document["auth"] = json!(AuthState::Required);
            }
            Some(Err(error)) => document["error"] = json!(error),
            None => {}
        }
        print_document(&document);
        return edit.code();
    }
    let server = &edit.server;
    let config = display_path(&edit.config);
    if !edit.changed {
        match &edit.connected {
            Some(connected) => {
                report!("{server} is already in {config}; nothing to change");
                print_connection(server, connected);
            }
            None => report!("nothing to change in {config}"),
        }
        return edit.code();
    }
    if edit.dry_run {
        println!("{}", escape_text(edit.diff.trim_end()));
        for name in &edit.secrets {
            println!("a secret would be stored in `env` as {name}");
        }
        return ExitCode::SUCCESS;
    }
    if !edit.diff.is_empty() {
        report!("{}", escape_text(edit.diff.trim_end()));
    }
    for name in &edit.secrets {
        report!("a secret is stored in `env` as {name}");
    }
    report!("{server} is {} in {config}", edit.change);
    if let Some(backup) = &edit.backup {
        report!("backup: {}", display_path(backup));
    }
    if let Some(connected) = &edit.connected {
        print_connection(server, connected);
        print_proposal(edit);
        return edit.code();
    }
    match (&edit.verdict, &edit.not_reloaded, edit.problem()) {
        (_, Some(problem), _) => warn(format!("{problem}; run `mux reload`")),
        (_, _, Some(problem)) => warn(format!("{server} cannot be used: {}", escape_text(problem))),
        (Some(_), None, None) => report!("muxd has loaded it"),
        (None, None, None) if edit.offered.is_none() => {
            note("`mux servers` starts muxd, which loads it");
        }
        (None, None, None) => {}
    }
    print_proposal(edit);
    match &edit.offered {
        Some(Ok(offered)) => print_functions(server, offered),
        Some(Err(error)) if edit.problem().is_none() => {
            warn(format!(
                "{server} cannot be used yet: {}",
                escape_text(&error.message)
            ));
        }
        Some(Err(_)) | None => {}
    }
    ExitCode::SUCCESS
}

fn print_proposal(edit: &ServerEdit) {
    if let Some(sandbox) = &edit.proposed_sandbox {
        let command = proposal_command(&edit.server, sandbox);
        note(&format!("a sandbox that fits this server: {command}"));
    }
}

/// Prints the findings at the server, or the error.
fn print_connection(server: &str, connected: &Result<ServerInfo, Error>) {
    match connected {
        Ok(info) => {
            let tools = human_units::count_text(info.tools.unwrap_or_default(), "tool");
            let took = info.start_ms.unwrap_or_default();
            println!(
                "connected: {tools} in {}",
                human_units::duration_text(took as f64)
            );
            // The server's current tools are pinned.
            for warning in &info.warnings {
                warn(warning);
            }
        }
        Err(error) if error.kind == Kind::AuthRequired => {
            note(&format!(
                "{server} requires a login: `mux servers login {server}`"
            ));
        }
        Err(error) => print_error(error, None),
    }
}

/// Prints the number of functions, a few of them, and the notes.
fn print_functions(source: &str, offered: &OfferedFunctions) {
    let count = offered.functions;
    let named = offered.some.len();
    let some: Vec<String> = offered
        .some
        .iter()
        .map(|path| escape_text(path).into_owned())
        .collect();
    let more = if count > named { ", …" } else { "" };
    let functions = human_units::count_text(count, "function");
    report!("{functions}: {}{more}", some.join(", "));
    for SourceNote { text, fix } in &offered.notes {
        let text = match fix {
            Some(fix) => format!("{text}; {fix}"),
            None => text.clone(),
        };
        warn(escape_text(&text));
    }
    for scheme in &offered.missing {
        let scheme = escape_text(scheme);
        warn(format!(
            "no credential for `{scheme}`: `mux sources add … --replace --auth '{scheme}=…'`, or auth in [sources.{source}]"
        ));
    }
}
