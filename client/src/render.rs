//! The only code that prints. Data goes to standard output, everything else to standard error, and
//! with `--json` exactly one document to standard output.

mod failure;
mod lists;
mod progress;
mod run_view;
mod status;
mod style;

use std::{fmt::Display, path::Path, process::ExitCode};

use anstream::{eprintln, print, println};
use clap_complete::Shell;
use mux_proto::{Error, ReloadReport, ServerInfo};
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::{
    failure::{Listing, diagnostics, failure, usage},
    lists::{servers, tools},
    progress::Waiting,
    run_view::RunView,
    status::{not_running, status},
};

/// One JSON document.
fn document(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("cannot print the answer: {error}"),
    }
}

/// A value for a person: text as text, everything else as JSON.
fn plain(value: &Value) {
    match value {
        Value::Null => {}
        Value::String(text) if text.ends_with('\n') => print!("{text}"),
        Value::String(text) => println!("{text}"),
        other => document(other),
    }
}

/// The value of a call.
pub(crate) fn value(value: &Value, json: bool) -> ExitCode {
    if json {
        document(&json!({ "ok": true, "result": value }));
    } else {
        plain(value);
    }
    ExitCode::SUCCESS
}

/// Declarations as they are; as JSON one string.
pub(crate) fn types(types: &str, json: bool) -> ExitCode {
    if json {
        document(&json!({ "types": types }));
    } else {
        text(types);
    }
    ExitCode::SUCCESS
}

/// Text that brings its own line ends.
pub(crate) fn text(text: &str) {
    print!("{text}");
}

/// A word on the side.
pub(crate) fn note(note: &str) {
    eprintln!(
        "{}note{}: {note}",
        style::DIM.render(),
        style::DIM.render_reset()
    );
}

fn warn(warning: impl Display) {
    eprintln!(
        "{}warning{}: {warning}",
        style::WARN.render(),
        style::WARN.render_reset()
    );
}

pub(crate) fn restarted(info: &ServerInfo, json: bool) -> ExitCode {
    if json {
        document(info);
    } else {
        let ms = info.start_ms.unwrap_or_default();
        println!(
            "{} restarted in {ms} ms, {} tools",
            info.name,
            info.tools.unwrap_or_default()
        );
    }
    ExitCode::SUCCESS
}

pub(crate) fn reloaded(report: &ReloadReport, json: bool) -> ExitCode {
    if json {
        document(report);
        return ExitCode::SUCCESS;
    }
    let parts = [
        ("added", &report.added),
        ("changed", &report.changed),
        ("removed", &report.removed),
        ("unchanged", &report.unchanged),
    ];
    for (what, names) in parts.into_iter().filter(|(_, names)| !names.is_empty()) {
        println!("{what}: {}", names.join(", "));
    }
    if parts.iter().all(|(_, names)| names.is_empty()) {
        println!("no server is configured");
    }
    for problem in &report.problems {
        warn(problem);
    }
    ExitCode::SUCCESS
}

pub(crate) fn stopped(pid: Option<u32>, json: bool) {
    match (pid, json) {
        (_, true) => document(&json!({ "stopped": pid.is_some(), "pid": pid })),
        (Some(pid), false) => println!("muxd {pid} has ended"),
        (None, false) => println!("no muxd is running"),
    }
}

pub(crate) fn started(pid: u32, json: bool) {
    if json {
        document(&json!({ "pid": pid }));
    } else {
        println!("muxd {pid} is running");
    }
}

pub(crate) fn completions(shell: Shell, command: &mut clap::Command, json: bool) {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "mux", &mut script);
    let script = String::from_utf8_lossy(&script);
    if json {
        document(&json!({ "shell": shell.to_string(), "script": script }));
    } else {
        text(&script);
    }
}

/// The last lines of a log.
pub(crate) fn lines(file: &Path, lines: &[String], json: bool) {
    if json {
        document(&json!({ "file": file, "lines": lines }));
    } else {
        for line in lines {
            println!("{line}");
        }
    }
}

/// An error as JSON has it everywhere.
fn error_document(error: &Error) -> Value {
    json!({ "ok": false, "error": error })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
