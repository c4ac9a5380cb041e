//! A run as it happens, and how it ended.

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

/// Shows what a person wants to see as it comes, and remembers what the JSON document needs.
pub(crate) struct RunView {
    json: bool,
    waiting: Waiting,
    record: Record,
    /// Calls that have ended, on a terminal.
    lines: Option<CallLines>,
    /// Calls on their way, and how far they are, for the spinner.
    running: BTreeMap<u32, String>,
    /// What went wrong when the run had ended.
    failure: Option<Error>,
    /// Somebody asked for the parts as files.
    saves: bool,
    /// The user is asked here whether calls may be made.
    asks: bool,
    /// The program, where it is at hand.
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

    /// The daemon has taken the run.
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
                // Its step is told.
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
                super::note(&format!("{run} goes on; answered from the record: {calls}"));
            }
            EventKind::ApprovalAsked(asked) if !self.json => {
                // Which one, the question says, or the line above.
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

    /// On a terminal, and while there is room.
    fn tell_line(&mut self, line: impl FnOnce(&mut CallLines) -> Option<String>) {
        if let Some(line) = self.lines.as_mut().and_then(line) {
            self.waiting.aside(move || eprintln!("{line}"));
        }
    }

    /// The end of the run without what is told of it elsewhere.
    pub(crate) fn ended(&mut self, outcome: Outcome) -> Outcome {
        self.record.ended(outcome)
    }

    /// For whoever asks the user beside it.
    pub(crate) fn spinner(&mut self, asks: bool) -> Spinner {
        self.asks = asks;
        self.waiting.spinner()
    }

    /// What the program handed over so far.
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
        // In a script's log it would stand on every line.
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

    /// The parts stand in these files now, as far as no failure came between.
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

    /// Where the daemon keeps the recording of the run.
    pub(crate) fn recording(&self) -> Option<&Handle> {
        self.record.recording.as_ref()
    }

    /// The recording stands in this file now, with so many bytes, or does not.
    pub(crate) fn recorded(&mut self, file: &Path, written: Result<u64, Error>) {
        match written {
            Ok(_) if self.json => self.record.recorded = Some(json!(file)),
            Ok(bytes) => {
                let size = amounts::bytes(bytes);
                let told = format!("recorded in {} ({size})", file.display());
                self.waiting.aside(move || super::note(&told));
            }
            // What went wrong before is told first.
            Err(error) => drop(self.failure.get_or_insert(error)),
        }
    }

    /// The replay did not end as it was recorded.
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

    /// The document of a result that is kept.
    pub(crate) fn stored(self, handle: &Handle) -> ExitCode {
        self.tell(&Outcome::Stored(handle.clone()))
    }

    /// A result that is kept is printed behind the last line of the run. What went wrong with the parts
    /// is left to be told behind it.
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

    /// Somebody pressed Ctrl-C, and this became of the run.
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

    /// The last lines beside the result.
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
