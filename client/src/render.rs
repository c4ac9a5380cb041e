//! The only code that prints. Data goes to standard output, everything else to standard error. With `--json`, exactly
//! one document goes to standard output: the daemon's answer as `proto` serializes it, possibly with a few more members,
//! or a value of this program.

mod approvals;
mod audit;
mod call_lines;
mod config_edit;
mod doctor;
mod elicitation;
mod failure;
mod human_units;
mod import;
mod init;
mod init_undo;
mod install;
mod lists;
mod login;
mod logs;
mod metrics;
mod offers;
mod parts;
mod pins;
mod policy;
mod progress;
mod projects;
mod reload;
mod run_details;
mod run_document;
mod run_view;
mod runs;
mod sandboxes;
mod screen_fit;
mod secrets;
mod server_edit;
mod service;
mod settings;
mod setup;
mod sources;
mod status;
mod style;
mod table;
mod terminal;
mod top;
mod ui;
mod undone_moves;
mod usage;
mod verbosity;
mod version;

use std::{collections::BTreeMap, fmt::Display, io, path::Path, process::ExitCode};

use clap_complete::Shell;
use mux_proto::{Error, Explained, Forgotten, ReadPage, ServerInfo, Upgraded};
use serde::Serialize;
use serde_json::{Value, json};

use self::terminal::{eprint, eprintln, print, report};
pub(crate) use self::terminal::{is_output_closed, print_data};
pub(crate) use self::{
    approvals::*, audit::*, call_lines::*, config_edit::*, doctor::*, elicitation::*, failure::*,
    human_units::*, import::*, init::*, init_undo::*, install::*, lists::*, login::*, logs::*,
    metrics::*, offers::*, parts::*, pins::*, policy::*, progress::*, projects::*, reload::*,
    run_details::*, run_document::*, run_view::*, runs::*, sandboxes::*, secrets::*,
    server_edit::*, service::*, settings::*, setup::*, sources::*, status::*, top::*, ui::*,
    undone_moves::*, usage::*, verbosity::*, version::*,
};
use crate::{exit, found_program::with_found_program};

/// Prints a JSON document. Panics if it cannot be written, like `println!`, except for a closed pipe.
fn print_document<D: Serialize + ?Sized>(value: &D) {
    terminal::expect_written(match serde_json::to_value(value) {
        Ok(value) => print_pretty_json(&value),
        // JSON of a message that is too deep for a value is printed as it was received.
        Err(_) => print_pretty_json(value),
    });
}

/// Prints `document` as it is with `--json`, and otherwise as `lines` prints it.
pub(crate) fn show<D: Serialize + ?Sized>(
    document: &D,
    json: bool,
    lines: impl FnOnce(&D),
) -> ExitCode {
    if json {
        print_document(document);
    } else {
        lines(document);
    }
    ExitCode::SUCCESS
}

/// Prints a message with one more member, unless that is `None`, as a JSON document.
fn print_extended<V: Serialize>(message: &impl Serialize, name: &str, value: Option<V>) {
    print_document(&extended(message, name, value));
}

/// A message with one more member.
#[derive(Serialize)]
struct Extended<'a, V, M> {
    #[serde(flatten)]
    member: BTreeMap<&'a str, V>,
    #[serde(flatten)]
    message: &'a M,
}

/// A message with one more member, unless that is `None`.
fn extended<'a, V: Serialize, M: Serialize>(
    message: &'a M,
    name: &'a str,
    value: Option<V>,
) -> Extended<'a, V, M> {
    let member = value.map(|value| (name, value)).into_iter().collect();
    Extended { member, message }
}

/// Prints one of several JSON documents, on a separate line.
fn print_json_line(value: &impl Serialize) {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    terminal::expect_written(terminal::print_json(&text));
}

/// The number of a run, by which people name it: what follows the last dash of its id.
pub(crate) fn run_number(run: &str) -> &str {
    match run.rsplit_once('-') {
        Some((_, number)) if !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()) => {
            number
        }
        _ => run,
    }
}

fn print_pretty_json<D: Serialize + ?Sized>(value: &D) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    terminal::print_json(&text)
}

/// Prints a value for a person: a string unquoted, all other values as JSON.
pub(crate) fn print_value(value: &Value) -> io::Result<()> {
    match value {
        Value::Null => Ok(()),
        Value::String(text) if text.ends_with('\n') => print_data(text),
        Value::String(text) => print_data(text).and_then(|()| print_data("\n")),
        other => print_pretty_json(other),
    }
}

/// The exit code after printing data. A closed pipe is not an error.
pub(crate) fn output_exit_code(result: io::Result<()>) -> ExitCode {
    match terminal::unless_closed(result) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let message = format!("cannot write to standard output: {error}");
            failure(&exit::unavailable_error(message), false, None)
        }
    }
}

/// Prints the TypeScript program that is equivalent to a step program.
pub(crate) fn explained(explained: &Explained, json: bool) -> ExitCode {
    if json {
        print_document(explained);
        return ExitCode::SUCCESS;
    }
    output_exit_code(print_data(&explained.source))
}

/// Prints the document of one page of a stored value.
pub(crate) fn page(page: &ReadPage) -> ExitCode {
    print_document(page);
    ExitCode::SUCCESS
}

/// Prints TypeScript declarations, or, as JSON, one string.
pub(crate) fn types(types: &str, json: bool) -> ExitCode {
    show(&json!({ "types": types }), json, |_| text(types))
}

/// Prints how many inferred result types were forgotten.
pub(crate) fn forgotten(forgotten: &Forgotten) {
    let tools = human_units::count_text(forgotten.tools, "tool");
    report!("forgotten: the result types of {tools}");
}

/// Prints a string that ends with its own newline.
pub(crate) fn text(text: &str) {
    print!("{text}");
}

/// Prints a note to standard error, unless --quiet is given.
pub(crate) fn note(note: &str) {
    if verbosity::verbosity() == Verbosity::Quiet {
        return;
    }
    eprintln!(
        "{}: {}",
        style::paint(style::DIM, "note"),
        indent_continuation(note)
    );
}

/// Prints a detail to standard error if --verbose is given.
pub(crate) fn detail(detail: &str) {
    if verbosity::verbosity() >= Verbosity::Verbose {
        eprintln!("{}", style::paint(style::DIM, indent_continuation(detail)));
    }
}

/// Prints a yes-or-no question to standard error, without a newline.
pub(crate) fn ask_to_confirm(question: &str, is_yes_default: bool) {
    let answers = if is_yes_default { "[Y/n]" } else { "[y/N]" };
    let question = terminal::escape_visible(question);
    eprint!("{} {answers} ", style::paint(style::WARN, question));
}

/// Prints a warning to standard error, unless --quiet is given.
pub(crate) fn warn(warning: impl Display) {
    if verbosity::verbosity() != Verbosity::Quiet {
        warn_always(warning);
    }
}

fn warn_always(warning: impl Display) {
    let warning = indent_continuation(&warning.to_string());
    eprintln!("{}: {warning}", style::paint(style::WARN, "warning"));
}

/// Escapes a text and indents all lines except the first. Quoted text therefore cannot imitate a line of ours.
fn indent_continuation(text: &str) -> String {
    terminal::escape_visible(text).replace('\n', "\n  ")
}

pub(crate) fn restarted(info: &ServerInfo) {
    let ms = info.start_ms.unwrap_or_default();
    report!(
        "{} restarted in {ms} ms, {} tools",
        info.name,
        info.tools.unwrap_or_default()
    );
}

pub(crate) fn stopped(pid: Option<u32>, json: bool) -> ExitCode {
    let document = json!({ "stopped": pid.is_some(), "pid": pid });
    show(&document, json, |_| match pid {
        Some(pid) => report!("muxd {pid} has exited"),
        None => report!("no muxd is running"),
    })
}

pub(crate) fn started(pid: u32, json: bool) -> ExitCode {
    show(&json!({ "pid": pid }), json, |_| {
        report!("muxd {pid} has started");
    })
}

/// Prints the result of an upgrade.
pub(crate) fn upgraded(before: u32, upgraded: &Upgraded, json: bool) {
    if json {
        print_extended(upgraded, "before", Some(before));
    } else {
        report!(
            "muxd {} ({}) has taken over from muxd {before} after {} ms; active runs finish in the old one",
            upgraded.pid,
            style::escape_text(&upgraded.build),
            upgraded.ms
        );
    }
}

/// Prints the script with which a shell completes `mux`.
pub(crate) fn completion_script(shell: Shell, script: &str, json: bool) -> ExitCode {
    let document = json!({ "shell": shell.to_string(), "script": script });
    show(&document, json, |_| text(script))
}

/// At most `most` characters of a foreign string on one line, for output elsewhere.
pub(crate) fn short_line(text: &str, most: usize) -> String {
    style::one_line(text, most)
}

/// The JSON document of a failed command.
fn error_document(error: &Error) -> Value {
    json!({ "ok": false, "error": with_found_program(error) })
}

fn display_path(path: &Path) -> String {
    match crate::process_environment::env_path("HOME") {
        Some(home) if home.is_absolute() => match path.strip_prefix(&home) {
            Ok(rest) => Path::new("~").join(rest).display().to_string(),
            Err(_) => path.display().to_string(),
        },
        _ => path.display().to_string(),
    }
}
