//! The output for edits of config.toml, with the daemon's response. The output contains no secret values.

use std::{path::PathBuf, process::ExitCode};

use super::terminal::{println, report};
use mux_proto::{AuthState, Error, Kind, ServerInfo, SourceNote};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    display_path, failure::print_error, human_units, note, print_extended, style::escape_text, warn,
};
use crate::known_sandboxes::proposal_command;

/// An edit of config.toml.
#[serde_with::skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(crate) struct ServerEdit {
    /// The server or source.
    pub(crate) server: String,
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
    /// A running daemon has loaded the edited file.
    pub(crate) reloaded: bool,
    pub(crate) not_reloaded: Option<String>,
    /// Why the running daemon cannot use the server, or why the functions of an added source are unknown.
    pub(crate) problem: Option<String>,
    /// The added server once it was connected to.
    pub(crate) connected: Option<ServerInfo>,
    /// The added server works, but requires a login.
    pub(crate) auth: Option<AuthState>,
    /// Why the added server does not start.
    pub(crate) error: Option<Error>,
    /// A sandbox that fits the added server.
    pub(crate) proposed_sandbox: Option<Map<String, Value>>,
    /// The functions of an added source.
    pub(crate) offered: Option<OfferedFunctions>,
}

/// The functions of a source.
#[derive(Debug, Serialize)]
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
            change,
            dry_run,
            ..Self::default()
        }
    }

    /// Records the first connection to the added server.
    pub(crate) fn set_connection(&mut self, connected: Result<ServerInfo, Error>) {
        match connected {
            Ok(info) => self.connected = Some(info),
            Err(error) if error.kind == Kind::AuthRequired => self.auth = Some(AuthState::Required),
            Err(error) => self.error = Some(error),
        }
    }

    fn was_contacted(&self) -> bool {
        self.connected.is_some() || self.auth.is_some() || self.error.is_some()
    }

    fn code(&self) -> ExitCode {
        let code = self.error.as_ref().map(|error| error.kind.exit_code());
        code.map_or(ExitCode::SUCCESS, ExitCode::from)
    }
}

pub(crate) fn server_edit(edit: &ServerEdit, json: bool) -> ExitCode {
    if json {
        print_extended(edit, "ok", Some(edit.error.is_none()));
        return edit.code();
    }
    let server = &edit.server;
    let config = display_path(&edit.config);
    if !edit.changed {
        if edit.was_contacted() {
            report!("{server} is already in {config}; nothing to change");
            print_connection(edit);
        } else {
            report!("nothing to change in {config}");
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
    if edit.was_contacted() {
        print_connection(edit);
        print_proposal(edit);
        return edit.code();
    }
    match (&edit.not_reloaded, &edit.problem) {
        (Some(problem), _) => warn(format!("{problem}; run `mux reload`")),
        (None, Some(problem)) => {
            warn(format!("{server} cannot be used: {}", escape_text(problem)));
        }
        (None, None) if edit.reloaded => report!("muxd has loaded it"),
        (None, None) if edit.offered.is_none() => {
            note("`mux servers` starts muxd, which loads it");
        }
        (None, None) => {}
    }
    print_proposal(edit);
    if let Some(offered) = &edit.offered {
        print_functions(server, offered);
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
fn print_connection(edit: &ServerEdit) {
    if let Some(info) = &edit.connected {
        let tools = human_units::count_text(info.tools.unwrap_or_default(), "tool");
        let took = info.start_ms.unwrap_or_default();
        println!(
            "connected: {tools} in {}",
            human_units::duration_text(took as f64)
        );
        // The server's current tools are pinned.
        for warning in &info.warnings {
            warn(&warning.text);
        }
    }
    if edit.auth.is_some() {
        let server = &edit.server;
        note(&format!(
            "{server} requires a login: `mux servers login {server}`"
        ));
    }
    if let Some(error) = &edit.error {
        print_error(error, None);
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
    for note in &offered.notes {
        warn(escape_text(&note.to_string()));
    }
    for scheme in &offered.missing {
        let scheme = escape_text(scheme);
        warn(format!(
            "no credential for `{scheme}`: `mux sources add … --replace --auth '{scheme}=…'`, or auth in [sources.{source}]"
        ));
    }
}
