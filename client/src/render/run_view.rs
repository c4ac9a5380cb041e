//! A run as it happens, and how it ended.

use std::{collections::BTreeMap, process::ExitCode};

use anstream::eprintln;
use mux_proto::{Error, Event, EventKind, Kind, Level};
use serde_json::{Value, json};

use super::{
    Listing, Waiting, document,
    failure::describe,
    plain,
    style::{DIM, ERROR, WARN, paint},
};
use crate::exit;

/// Shows console lines as they come and remembers what the JSON document needs.
pub(crate) struct RunView {
    json: bool,
    waiting: Waiting,
    console: Vec<Value>,
    calls: Vec<Value>,
    /// Calls on their way, for the spinner.
    running: BTreeMap<u32, String>,
}

impl RunView {
    pub(crate) fn new(json: bool) -> Self {
        let waiting = Waiting::begin("running", json);
        Self {
            json,
            waiting,
            console: Vec::new(),
            calls: Vec::new(),
            running: BTreeMap::new(),
        }
    }

    pub(crate) fn show(&mut self, event: &Event) {
        match &event.event {
            EventKind::Console { level, text } => self.console(*level, text),
            EventKind::ServerStarting { server } => self.waiting.say(&format!("starting {server}")),
            EventKind::ServerReady { .. } => self.say_running(),
            EventKind::CallStarted { call, path } => {
                self.running.insert(*call, path.clone());
                self.say_running();
            }
            EventKind::CallEnded {
                call,
                path,
                ms,
                bytes,
                error,
            } => {
                self.running.remove(call);
                self.say_running();
                let error = error
                    .as_ref()
                    .map(|e| json!({ "kind": e.kind, "message": e.message }));
                self.calls
                    .push(json!({ "path": path, "ms": ms, "bytes": bytes, "error": error }));
            }
            _ => {}
        }
    }

    fn say_running(&self) {
        match self.running.values().next_back() {
            None => self.waiting.say("running"),
            Some(path) if self.running.len() == 1 => self.waiting.say(path),
            Some(path) => {
                self.waiting
                    .say(&format!("{path} and {} more calls", self.running.len() - 1));
            }
        }
    }

    fn console(&mut self, level: Level, text: &str) {
        let line = match level {
            Level::Error => paint(ERROR, text),
            Level::Warn => paint(WARN, text),
            Level::Debug => paint(DIM, text),
            Level::Log | Level::Info => text.to_owned(),
        };
        self.waiting.aside(|| eprintln!("{line}"));
        self.console.push(json!({ "level": level, "text": text }));
    }

    pub(crate) fn result(self, run: &str, value: &Value) -> ExitCode {
        let Self {
            json,
            waiting,
            console,
            calls,
            ..
        } = self;
        waiting.end();
        if json {
            document(&json!({
                "ok": true, "run": run, "result": value, "console": console, "calls": calls,
            }));
        } else {
            plain(value);
        }
        ExitCode::SUCCESS
    }

    pub(crate) fn failed(self, run: &str, error: &Error, listing: &Listing) -> ExitCode {
        let Self {
            json,
            waiting,
            console,
            calls,
            ..
        } = self;
        waiting.end();
        if json {
            document(&json!({
                "ok": false, "run": run, "error": error, "console": console, "calls": calls,
            }));
        } else {
            describe(error, Some(listing));
            if !calls.is_empty() {
                let plural = if calls.len() == 1 { "" } else { "s" };
                let before = paint(DIM, "before that,");
                eprintln!("  {before} {} tool call{plural} had ended", calls.len());
            }
        }
        ExitCode::from(exit::code(&error.kind))
    }

    pub(crate) fn interrupted(self) -> ExitCode {
        let Self {
            json,
            waiting,
            console,
            calls,
            ..
        } = self;
        waiting.end();
        let error = Error::new(Kind::Cancelled, "interrupted; the run was cancelled");
        if json {
            document(&json!({
                "ok": false, "error": error, "console": console, "calls": calls,
            }));
        } else {
            eprintln!("{}", error.message);
        }
        ExitCode::from(exit::code(&error.kind))
    }
}
