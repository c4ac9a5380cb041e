//! The output of a run: events as they happen, and the outcome.

use std::{
    collections::BTreeMap,
    io::{IsTerminal, stderr},
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::terminal::eprintln;
use mux_proto::{Error, Event, EventKind, Handle, Held, Kind, Level, Outcome};
use serde_json::{Value, json};

use super::{
    Listing, Spinner, Waiting, amounts, approvals, document,
    failure::{describe, doubt, unchecked},
    live::{self, CallLines, moving},
    parts, plain,
    record::Record,
    style::{DIM, ERROR, WARN, harmless, paint},
};
use crate::{came_before, exit};

/// Shows events to a person as they arrive, and collects them for the JSON document.
pub(crate) struct RunView {
    json: bool,
    waiting: Waiting,
    record: Record,
    /// Lines for ended calls, on a terminal.
    lines: Option<CallLines>,
    /// Calls in flight with their progress, for the spinner.
    running: BTreeMap<u32, String>,
    /// A failure after the end of the run.
    failure: Option<Error>,
    /// Whether parts are saved to files.
    saves: bool,
    /// Whether approvals are prompted for at this terminal.
    asks: bool,
    /// The program's source, if it is available.
    listing: Option<Listing>,
}

impl RunView {
    pub(crate) fn new(json: bool, saves: bool, listing: Option<Listing>) -> Self {
        Self {
            json,
            waiting: Waiting::begin("asking muxd", json),
            record: Record::default(),
            lines: (!json && stderr().is_terminal()).then(CallLines::default),
            running: BTreeMap::new(),
            failure: None,
            saves,
            asks: false,
            listing,
        }
    }

    /// The daemon has accepted the run.
    pub(crate) fn accepted(&mut self, run: &str) {
        self.record.run = Some(run.to_owned());
        self.waiting.say("waiting for a worker");
    }

    pub(crate) fn show(&mut self, event: &Event) {
        self.record.add(event);
        match &event.event {
            EventKind::Checked {
                warnings,
                unchecked,
            } => self.checked(warnings, unchecked.as_deref()),
            EventKind::Console { level, text } => self.console(*level, text),
            EventKind::ServerStarting { server } => self.waiting.say(&format!("starting {server}")),
            EventKind::Started {} | EventKind::ServerReady { .. } => self.say_running(),
            EventKind::CallStarted { call, path } => {
                self.running.insert(*call, path.clone());
                self.say_running();
            }
            EventKind::CallProgress {
                call,
                path,
                progress,
                total,
                message,
            } => {
                if let Some(shown) = self.running.get_mut(call) {
                    *shown = moving(path, *progress, *total, message.as_deref());
                    self.say_running();
                }
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
                // The step is shown instead.
                if !self.record.is_of_steps() {
                    let ended = |l: &mut CallLines| l.ended(path, *ms, *bytes, error.as_ref());
                    self.tell_line(ended);
                }
            }
            EventKind::StepStarted {
                description: Some(description),
                ..
            } => self.waiting.say(&harmless(description)),
            EventKind::StepEnded {
                step,
                tool,
                ms,
                bytes,
                error,
            } => {
                let name = live::step(step, tool);
                self.tell_line(|lines| lines.ended(&name, *ms, *bytes, error.as_ref()));
            }
            EventKind::StepSkipped { step, tool, reason } => {
                self.tell_line(|lines| lines.skipped(step, tool, reason));
            }
            EventKind::Emitted { part } => self.emitted(part),
            EventKind::Resumed { run, calls } if !self.json => {
                let calls = amounts::count(*calls, "call");
                super::note(&format!("{run} resumed; answered from the record: {calls}"));
            }
            EventKind::ApprovalAsked(asked) if !self.json => {
                // The prompt or the line above names the call.
                self.waiting.say("waiting for approval");
                if !self.asks {
                    let asked = asked.clone();
                    self.waiting.aside(move || approvals::waits(&asked));
                }
            }
            EventKind::ApprovalOver(over) if !self.json => {
                let over = over.clone();
                self.waiting.aside(move || approvals::over(&over));
                self.say_running();
            }
            _ => {}
        }
    }

    /// Prints a line on a terminal, if the limit of lines is not reached.
    fn tell_line(&mut self, line: impl FnOnce(&mut CallLines) -> Option<String>) {
        if let Some(line) = self.lines.as_mut().and_then(line) {
            self.waiting.aside(move || eprintln!("{line}"));
        }
    }

    /// The outcome without the summary of steps, which is shown separately.
    pub(crate) fn ended(&mut self, outcome: Outcome) -> Outcome {
        self.record.ended(outcome)
    }

    /// The handle for code that prompts the user.
    pub(crate) fn spinner(&mut self, asks: bool) -> Spinner {
        self.asks = asks;
        self.waiting.spinner()
    }

    /// The parts that the program emitted so far.
    pub(crate) fn parts(&self) -> &[Held] {
        self.record.parts()
    }

    fn say_running(&self) {
        match self.running.values().next_back() {
            None => self.waiting.say("running"),
            Some(path) if self.running.len() == 1 => self.waiting.say(path),
            Some(path) => {
                let more = amounts::count(self.running.len() - 1, "more call");
                self.waiting.say(&format!("{path} and {more}"));
            }
        }
    }

    fn checked(&self, warnings: &[Error], why_not: Option<&str>) {
        if self.json {
            return;
        }
        let (warnings, listing) = (warnings.to_vec(), self.listing.clone());
        // Without a terminal, the note would repeat in a script's log.
        let why = why_not.filter(|_| self.lines.is_some()).map(str::to_owned);
        self.waiting.aside(move || {
            for warning in &warnings {
                doubt(warning, listing.as_ref());
            }
            if let Some(why) = why {
                unchecked(&why);
            }
        });
    }

    fn console(&self, level: Level, text: &str) {
        let text = harmless(text);
        let line = match level {
            Level::Error => paint(ERROR, text),
            Level::Warn => paint(WARN, text),
            Level::Debug => paint(DIM, text),
            Level::Log | Level::Info => text.into_owned(),
        };
        self.waiting.aside(move || eprintln!("{line}"));
    }

    fn emitted(&self, part: &Held) {
        if !self.json {
            let number = self.record.parts().len();
            let part = part.clone();
            self.waiting.aside(move || parts::emitted(number, &part));
        }
    }

    /// The parts were written to these files, up to a failure.
    pub(crate) fn saved(&mut self, files: &[PathBuf], failure: Option<Error>) {
        if self.json {
            let files = files.iter().map(|file| json!(file)).collect();
            self.record.files = Some(files);
        } else {
            let files = files.to_vec();
            self.waiting.aside(move || {
                for (index, file) in files.iter().enumerate() {
                    parts::saved(index + 1, file);
                }
            });
        }
        self.failure = failure;
    }

    /// The handle of the run's recording in the daemon.
    pub(crate) fn recording(&self) -> Option<&Handle> {
        self.record.recording.as_ref()
    }

    /// The recording was written to this file, with its size in bytes, or could not be written.
    pub(crate) fn recorded(&mut self, file: &Path, written: Result<u64, Error>) {
        match written {
            Ok(_) if self.json => self.record.recorded = Some(json!(file)),
            Ok(bytes) => {
                let size = amounts::bytes(bytes);
                let told = format!("recorded in {} ({size})", file.display());
                self.waiting.aside(move || super::note(&told));
            }
            // An earlier failure takes precedence.
            Err(error) => drop(self.failure.get_or_insert(error)),
        }
    }

    /// The replay's outcome differs from the recorded one.
    pub(crate) fn differs(&mut self) {
        let error = Error::new(Kind::Runtime, "the run does not end as it was recorded");
        let hint = "the recording has it under `outcome`";
        self.failure.get_or_insert(error.hint(hint));
    }

    pub(crate) fn result(self, value: &Value) -> ExitCode {
        if self.json {
            return self.tell(&Outcome::Result(value.clone()));
        }
        let failure = self.close();
        let printed = super::printed(plain(value));
        failed_behind(failure).unwrap_or(printed)
    }

    /// Prints the document of a stored result.
    pub(crate) fn stored(self, handle: &Handle) -> ExitCode {
        self.tell(&Outcome::Stored(handle.clone()))
    }

    /// Prints the last lines of the run, before a stored result is printed. Returns a failure that must be printed
    /// after the result.
    pub(crate) fn before_stored(self) -> Option<Error> {
        self.close()
    }

    pub(crate) fn failed(mut self, error: &Error) -> ExitCode {
        if self.json {
            return self.tell(&Outcome::Error(error.clone()));
        }
        let before = came_before::in_words(&self.record.ended, error);
        let listing = self.listing.take();
        let failure = self.close();
        describe(error, listing.as_ref());
        if let Some(words) = before {
            eprintln!("  {} {words}", paint(DIM, "before that,"));
        }
        failed_behind(failure);
        ExitCode::from(exit::code(&error.kind))
    }

    /// The user pressed Ctrl-C; `what` says what happened to the run.
    pub(crate) fn interrupted(self, what: &str) -> ExitCode {
        let error = Error::new(Kind::Cancelled, format!("interrupted; {what}"));
        if self.json {
            return self.tell(&Outcome::Error(error));
        }
        self.close();
        eprintln!("{}", error.message);
        ExitCode::from(exit::code(&error.kind))
    }

    fn tell(self, outcome: &Outcome) -> ExitCode {
        self.waiting.end();
        let kind = match (outcome, &self.failure) {
            (Outcome::Error(error), _) | (_, Some(error)) => Some(error.kind.clone()),
            _ => None,
        };
        document(&self.record.document(outcome, self.failure.as_ref()));
        ExitCode::from(kind.map_or(0, |kind| exit::code(&kind)))
    }

    /// Prints the last lines of the run, which are not part of the result.
    fn close(self) -> Option<Error> {
        self.waiting.end();
        if let Some(rest) = self.lines.and_then(|lines| lines.rest()) {
            eprintln!("{rest}");
        }
        if !self.saves && self.record.parts().iter().any(parts::needs_a_file) {
            super::note("`--save-parts DIR` writes parts to files");
        }
        self.failure
    }
}

fn failed_behind(failure: Option<Error>) -> Option<ExitCode> {
    let error = failure?;
    describe(&error, None);
    Some(ExitCode::from(exit::code(&error.kind)))
}
