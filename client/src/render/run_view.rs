//! The output of a run: events as they happen, and the outcome.

use std::{
    collections::BTreeMap,
    io::{IsTerminal, stderr},
    path::Path,
    process::ExitCode,
};

use super::terminal::eprintln;
use mux_proto::{Error, Event, EventKind, Handle, Held, JsonText, Kind, Level, Outcome};

use super::{
    ProgramListing, SavedParts, SpinnerGuard, SpinnerHandle, approvals,
    call_lines::{self, CallLines, call_progress_line},
    failure::{note_unchecked, print_error, print_late_failure, print_warning},
    human_units, parts, print_document, print_value,
    run_document::{OutcomeDocument, RunRecord},
    style::{DIM, ERROR, WARN, escape_text, one_line, paint},
    verbosity::{Verbosity, verbosity},
};
use crate::prior_calls;

/// The maximum number of characters of an event that is printed as JSON.
const MAX_EVENT_CHARS: usize = 2_000;

/// Shows events to a person as they arrive, and collects them for the JSON document.
pub(crate) struct RunView {
    json: bool,
    waiting: SpinnerGuard,
    record: RunRecord,
    /// Lines for ended calls, on a terminal or with --verbose.
    lines: Option<CallLines>,
    /// Calls in flight with their progress, for the spinner.
    running: BTreeMap<u32, String>,
    /// A failure after the end of the run.
    failure: Option<Error>,
    /// True if parts are saved to files.
    saves: bool,
    /// True if approvals are prompted for at this terminal.
    asks: bool,
    /// The program's source, if it is available.
    listing: ProgramListing,
}

impl RunView {
    pub(crate) fn new(json: bool, saves: bool, listing: ProgramListing) -> Self {
        Self {
            json,
            waiting: SpinnerGuard::begin("asking muxd", json),
            record: RunRecord::default(),
            lines: match verbosity() {
                _ if json => None,
                Verbosity::Quiet => None,
                Verbosity::Normal => stderr().is_terminal().then(CallLines::default),
                Verbosity::Verbose | Verbosity::Events => Some(CallLines::unlimited()),
            },
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
        self.waiting.update_message("waiting for a worker");
    }

    pub(crate) fn show(&mut self, event: &Event) {
        self.record.add(event);
        if verbosity() == Verbosity::Events {
            let event = serde_json::to_string(event).unwrap_or_default();
            let event = one_line(&event, MAX_EVENT_CHARS);
            self.waiting.aside(move || super::detail(&event));
        }
        match &event.event {
            EventKind::Checked {
                warnings,
                unchecked,
            } => self.checked(warnings, unchecked.as_deref()),
            EventKind::Console { level, text } => self.console(*level, text),
            EventKind::ServerStarting { server } => {
                self.waiting.update_message(&format!("starting {server}"));
            }
            EventKind::Started {} | EventKind::ServerReady { .. } => self.update_spinner(),
            EventKind::CallStarted { call, path } => {
                self.running.insert(*call, call_lines::tool_name(path));
                self.update_spinner();
            }
            EventKind::CallProgress {
                call,
                path,
                progress,
                total,
                message,
            } => {
                if let Some(shown) = self.running.get_mut(call) {
                    *shown = call_progress_line(path, *progress, *total, message.as_deref());
                    self.update_spinner();
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
                self.update_spinner();
                // The step is shown instead.
                if !self.record.is_of_steps() {
                    let name = call_lines::tool_name(path);
                    let ended = |l: &mut CallLines| l.ended(&name, *ms, *bytes, error.as_ref());
                    self.print_call_line(ended);
                }
            }
            EventKind::StepStarted {
                description: Some(description),
                ..
            } => self.waiting.update_message(&escape_text(description)),
            EventKind::StepEnded {
                step,
                tool,
                ms,
                bytes,
                error,
            } => {
                let name = call_lines::step_name(step, tool);
                self.print_call_line(|lines| lines.ended(&name, *ms, *bytes, error.as_ref()));
            }
            EventKind::StepSkipped { step, tool, reason } => {
                self.print_call_line(|lines| lines.skipped(step, tool, reason));
            }
            EventKind::Emitted { part } => self.emitted(part),
            EventKind::Resumed { run, calls } if !self.json => {
                let calls = human_units::count_text(*calls, "call");
                let run = super::run_number(run);
                super::note(&format!(
                    "run {run} resumed; {calls} answered from the record"
                ));
            }
            EventKind::ApprovalAsked(asked) if !self.json => {
                // The prompt or the line above names the call.
                self.waiting.update_message("waiting for approval");
                if !self.asks {
                    let asked = asked.clone();
                    self.waiting
                        .aside(move || approvals::approval_requested(&asked));
                }
            }
            EventKind::ApprovalOver(over) if !self.json => {
                let over = over.clone();
                self.waiting.aside(move || approvals::approval_ended(&over));
                self.update_spinner();
            }
            _ => {}
        }
    }

    /// Prints a line on a terminal, if the limit of lines is not reached.
    fn print_call_line(&mut self, line: impl FnOnce(&mut CallLines) -> Option<String>) {
        if let Some(line) = self.lines.as_mut().and_then(line) {
            self.waiting.aside(move || eprintln!("{line}"));
        }
    }

    /// The outcome without the summary of steps, which is shown separately.
    pub(crate) fn ended(&mut self, outcome: Outcome) -> Outcome {
        self.record.split_outcome(outcome)
    }

    /// The handle for code that prompts the user.
    pub(crate) fn spinner(&mut self, asks: bool) -> SpinnerHandle {
        self.asks = asks;
        self.waiting.spinner()
    }

    /// The parts that the program emitted so far.
    pub(crate) fn parts(&self) -> &[Held] {
        self.record.parts()
    }

    /// Why the types were not checked, if the user should be told.
    pub(crate) fn why_unchecked(&self) -> Option<&str> {
        let is_told = !self.json && verbosity() != Verbosity::Quiet;
        self.record.why_unchecked().filter(|_| is_told)
    }

    fn update_spinner(&self) {
        match self.running.values().next_back() {
            None => self.waiting.update_message("running"),
            Some(path) if self.running.len() == 1 => self.waiting.update_message(path),
            Some(path) => {
                let more = human_units::count_text(self.running.len() - 1, "more call");
                self.waiting.update_message(&format!("{path} and {more}"));
            }
        }
    }

    fn checked(&self, warnings: &[Error], why_not: Option<&str>) {
        if self.json || verbosity() == Verbosity::Quiet {
            return;
        }
        let warnings = warnings.to_vec();
        let listing = self.listing.clone();
        let why = why_not.map(str::to_owned);
        self.waiting.aside(move || {
            for warning in &warnings {
                print_warning(warning, Some(&listing));
            }
            if let Some(why) = why {
                note_unchecked(&why);
            }
        });
    }

    fn console(&self, level: Level, text: &str) {
        let text = escape_text(text);
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
            self.waiting.aside(move || parts::print_part(number, &part));
        }
    }

    /// The parts were written to these files, up to a failure.
    pub(crate) fn saved(&mut self, saved: SavedParts) {
        let SavedParts { files, failure } = saved;
        if self.json {
            self.record.files = Some(files);
        } else {
            self.waiting.aside(move || parts::print_saved_parts(&files));
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
            Ok(_) if self.json => self.record.recorded = Some(file.to_owned()),
            Ok(bytes) => {
                let size = human_units::size_text(bytes);
                let text = format!("recorded in {} ({size})", file.display());
                self.waiting.aside(move || super::note(&text));
            }
            // An earlier failure takes precedence.
            Err(error) => drop(self.failure.get_or_insert(error)),
        }
    }

    /// The replay's outcome was compared with the recorded one.
    pub(crate) fn verified(&mut self, difference: Option<String>) {
        if let Some(difference) = &difference {
            let message = format!("the run does not end as recorded: {difference}");
            let error = Error::new(Kind::Runtime, message);
            let hint = "the recording has it under `outcome`";
            self.failure.get_or_insert(error.hint(hint));
        }
        self.record.verified = Some(difference.is_none());
        self.record.difference = difference;
    }

    /// The exit code of a run whose outcome was compared with a recorded one. The kind of its error does not count.
    fn verification_code(&self) -> Option<ExitCode> {
        let is_good = self.record.verified? && self.failure.is_none();
        Some(ExitCode::from(u8::from(!is_good)))
    }

    pub(crate) fn result(self, value: JsonText) -> ExitCode {
        if self.json {
            return self.finish_json(&Outcome::Result(value));
        }
        let failure = self.finish_lines();
        let printed = super::output_exit_code(print_value(&value.to_value()));
        print_late_failure(failure).unwrap_or(printed)
    }

    /// Prints the document of a stored result.
    pub(crate) fn stored(self, handle: &Handle) -> ExitCode {
        self.finish_json(&Outcome::Stored(handle.clone()))
    }

    /// Prints the last lines of the run, before a stored result is printed. Returns a failure that must be printed
    /// after the result.
    pub(crate) fn finish_before_stored(self) -> Option<Error> {
        self.finish_lines()
    }

    pub(crate) fn failed(self, error: &Error) -> ExitCode {
        if self.json {
            return self.finish_json(&Outcome::Error(error.clone()));
        }
        let before = prior_calls::describe_prior_calls(&self.record.calls, error);
        let code = self.verification_code();
        let listing = self.listing.clone();
        let failure = self.finish_lines();
        print_error(error, Some(&listing));
        if let Some(words) = before {
            eprintln!("  {} {words}", paint(DIM, "before that,"));
        }
        print_late_failure(failure);
        code.unwrap_or_else(|| ExitCode::from(error.kind.exit_code()))
    }

    /// The user pressed Ctrl-C. `what` is the effect on the run.
    pub(crate) fn interrupted(self, what: &str) -> ExitCode {
        let error = Error::new(Kind::Cancelled, format!("interrupted; {what}"));
        if self.json {
            return self.finish_json(&Outcome::Error(error));
        }
        self.finish_lines();
        eprintln!("{}", error.message);
        ExitCode::from(error.kind.exit_code())
    }

    fn finish_json(self, outcome: &Outcome) -> ExitCode {
        let code = self.verification_code();
        self.waiting.end();
        let kind = match (outcome, &self.failure) {
            (Outcome::Error(error), _) | (_, Some(error)) => Some(error.kind.clone()),
            _ => None,
        };
        let failure = self.failure.as_ref();
        print_document(&OutcomeDocument::new(outcome, failure, &self.record));
        code.unwrap_or_else(|| ExitCode::from(kind.map_or(0, |kind| kind.exit_code())))
    }

    /// Prints the last lines of the run, which are not part of the result.
    fn finish_lines(self) -> Option<Error> {
        self.waiting.end();
        if let Some(rest) = self.lines.and_then(|lines| lines.remaining_line()) {
            eprintln!("{rest}");
        }
        if !self.saves && self.record.parts().iter().any(parts::needs_a_file) {
            super::note("`--save-parts DIR` writes parts to files");
        }
        self.failure
    }
}
