//! The output of `mux runs show`.

use std::{collections::BTreeMap, process::ExitCode};

use super::terminal::println;
use mux_proto::{Event, EventKind, KeptValue, Level, Outcome, RunInfo, RunJournal};
use serde::Serialize;

use super::{
    RunRecord, call_lines, display_path,
    failure::{ProgramListing, print_error},
    human_units, output_exit_code, parts, print_document, print_value, run_document, run_number,
    runs::{MAX_TITLE_CHARS, calls_text, state_name, unix_millis},
    style::{DIM, ERROR, STRONG, WARN, escape_text, one_line, paint},
};

/// The maximum length of an argument or a result, in characters.
const MAX_SHOWN_VALUE_CHARS: usize = 200;

/// The JSON document of a run. It has no outcome while the run continues.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct RunDetails<'a> {
    info: &'a RunInfo,
    /// The program and the calls, if the history has the run.
    journal: Option<&'a RunJournal>,
    #[serde(flatten)]
    outcome: Option<Outcome>,
    #[serde(flatten)]
    record: RunRecord,
}

impl<'a> RunDetails<'a> {
    fn new(info: &'a RunInfo, events: &[Event], journal: Option<&'a RunJournal>) -> Self {
        let mut record = RunRecord::default();
        for event in events {
            record.add(event);
        }
        Self {
            info,
            journal,
            outcome: find_outcome(events).map(|outcome| record.split_outcome(outcome.clone())),
            record,
        }
    }
}

/// Prints a run with its events.
pub(crate) fn run(
    info: &RunInfo,
    events: &[Event],
    journal: Option<&RunJournal>,
    json: bool,
) -> ExitCode {
    let details = RunDetails::new(info, events, journal);
    if json {
        print_document(&details);
        return ExitCode::SUCCESS;
    }
    print_run_head(info);
    if let Some(journal) = journal {
        print_journal(journal);
    }
    for event in events {
        print_event(event, details.record.is_of_steps());
    }
    match details.outcome {
        None => {
            for line in calls_in_flight(events) {
                println!("{}", paint(DIM, format!("  \u{2026} {line}")));
            }
            super::note(&format!(
                "`mux runs watch {}` follows it",
                run_number(&info.run)
            ));
            ExitCode::SUCCESS
        }
        Some(Outcome::Result(value)) => output_exit_code(print_value(&value.to_value())),
        Some(Outcome::Stored(handle)) => {
            println!("{}\u{2026}", escape_text(&handle.preview));
            let size = human_units::size_text(handle.bytes);
            super::note(&format!(
                "{size} in all; `{}` reads it",
                run_document::read_command(&handle)
            ));
            ExitCode::SUCCESS
        }
        Some(Outcome::Error(error)) => {
            print_error(&error, Some(&ProgramListing::without_source()));
            ExitCode::SUCCESS
        }
    }
}

/// Prints the program, its input, and the calls with arguments and results.
fn print_journal(journal: &RunJournal) {
    let program = &journal.program;
    println!("{}", paint(DIM, "source"));
    for line in program.source.lines() {
        println!("  {}", escape_text(line));
    }
    let has_input = program.input.value.is_some() || program.input.preview.is_some();
    if has_input || program.input.withheld {
        println!("{} {}", paint(DIM, "input   "), kept_text(&program.input));
    }
    for call in &journal.calls {
        let outcome = match (&call.result, &call.error) {
            (Some(result), _) => format!("\u{2192} {}", kept_text(result)),
            (None, Some(error)) => {
                let message = one_line(&error.message, MAX_SHOWN_VALUE_CHARS);
                paint(ERROR, message)
            }
            (None, None) => "did not end".to_owned(),
        };
        let tool = one_line(&call.tool, MAX_TITLE_CHARS);
        let arguments = kept_text(&call.arguments);
        println!("{} {tool} {arguments}", paint(DIM, "call    "));
        println!("{} {outcome}", paint(DIM, "        "));
    }
    if journal.incomplete {
        super::note("further calls are not kept: the run's calls exceed approvals.log");
    }
}

/// A value on one line, or its beginning.
fn kept_text(kept: &KeptValue) -> String {
    if kept.withheld {
        return format!("({} bytes, not kept: history = false)", kept.bytes);
    }
    let text = match (&kept.value, &kept.preview) {
        (Some(value), _) => value.to_string(),
        (None, Some(preview)) => preview.clone(),
        (None, None) => "null".to_owned(),
    };
    one_line(&text, MAX_SHOWN_VALUE_CHARS)
}

fn find_outcome(events: &[Event]) -> Option<&Outcome> {
    events.iter().find_map(|event| match &event.event {
        EventKind::Ended { outcome } => Some(outcome),
        _ => None,
    })
}

/// Calls in flight, with their last progress.
fn calls_in_flight(events: &[Event]) -> Vec<String> {
    let mut calls = BTreeMap::new();
    for event in events {
        match &event.event {
            EventKind::CallStarted { call, path } => {
                calls.insert(*call, call_lines::tool_name(path));
            }
            EventKind::CallProgress {
                call,
                path,
                progress,
                total,
                message,
            } => {
                let line =
                    call_lines::call_progress_line(path, *progress, *total, message.as_deref());
                calls.insert(*call, line);
            }
            EventKind::CallEnded { call, .. } => {
                calls.remove(call);
            }
            _ => {}
        }
    }
    calls.into_values().collect()
}

fn print_run_head(info: &RunInfo) {
    println!("{} {}", paint(STRONG, "run"), run_number(&info.run));
    let line = |what: &str, text: String| println!("{} {text}", paint(DIM, format!("{what:<8}")));
    let detached = if info.detached { ", detached" } else { "" };
    line("state", format!("{}{detached}", state_name(info)));
    line("program", one_line(&info.title, MAX_TITLE_CHARS));
    line("client", one_line(&info.client, MAX_TITLE_CHARS));
    if let Some(agent) = &info.agent {
        line("agent", one_line(agent, MAX_TITLE_CHARS));
    }
    if let Some(workspace) = &info.workspace {
        line("from", one_line(&display_path(workspace), 200));
    }
    line(
        "began",
        human_units::age_text(unix_millis().saturating_sub(info.accepted_ms)),
    );
    line("took", human_units::duration_text(info.ms as f64));
    line("calls", calls_text(info));
}

/// Prints an event like `mux run` does, with every call or step.
fn print_event(event: &Event, of_steps: bool) {
    match &event.event {
        EventKind::Console { level, text } => {
            let text = escape_text(text);
            match level {
                Level::Error => println!("{}", paint(ERROR, text)),
                Level::Warn => println!("{}", paint(WARN, text)),
                Level::Debug => println!("{}", paint(DIM, text)),
                Level::Log | Level::Info => println!("{text}"),
            }
        }
        EventKind::CallEnded {
            path,
            ms,
            bytes,
            error,
            ..
        } if !of_steps => {
            let name = call_lines::tool_name(path);
            println!(
                "{}",
                call_lines::call_line(&name, *ms, *bytes, error.as_ref())
            );
        }
        EventKind::StepEnded {
            step,
            tool,
            ms,
            bytes,
            error,
        } => {
            let name = call_lines::step_name(step, tool);
            println!(
                "{}",
                call_lines::call_line(&name, *ms, *bytes, error.as_ref())
            );
        }
        EventKind::StepSkipped { step, tool, reason } => {
            println!("{}", call_lines::skipped_line(step, tool, reason));
        }
        EventKind::ApprovalAsked(asked) => println!(
            "{} {}  {}",
            paint(WARN, "asked:"),
            asked.approval,
            call_lines::tool_name(&asked.path)
        ),
        EventKind::ApprovalOver(over) => {
            let ending = format!("{:?}", over.ending).to_lowercase();
            println!("{} {}  {ending}", paint(WARN, "answered:"), over.approval);
        }
        EventKind::Emitted { part } => {
            println!("{} {}", paint(DIM, "part:"), parts::part_summary(part));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use mux_proto::{Error, Kind, RunState};
    use serde_json::json;

    use super::{
        super::{run_document::tests::handle, runs::tests::info},
        *,
    };

    #[test]
    fn calls_in_flight_are_shown_with_progress() {
        let event = |event| Event {
            seq: 1,
            at_ms: 0,
            event,
        };
        let path = || "a.b".to_owned();
        let started = |call| event(EventKind::CallStarted { call, path: path() });
        let moved = |call, progress| {
            event(EventKind::CallProgress {
                call,
                path: path(),
                progress,
                total: Some(4.0),
                message: None,
            })
        };
        let ended = event(EventKind::CallEnded {
            call: 1,
            path: path(),
            ms: 1.0,
            bytes: 1,
            error: None,
        });
        let events = [
            started(1),
            started(2),
            moved(1, 1.0),
            moved(2, 2.0),
            started(3),
            ended,
        ];
        assert_eq!(calls_in_flight(&events), ["a.b  50 %", "a.b"]);
    }

    #[test]
    fn run_document_has_info_events_and_outcome() {
        let event = |event| Event {
            seq: 1,
            at_ms: 0,
            event,
        };
        let console = EventKind::Console {
            level: Level::Warn,
            text: "hm".into(),
        };
        let open = json!(RunDetails::new(
            &info(RunState::Running),
            &[event(console.clone())],
            None
        ));
        assert_eq!(open["info"], json!(info(RunState::Running)));
        assert_eq!(open["console"], json!([{ "level": "warn", "text": "hm" }]));
        assert_eq!((&open["calls"], &open["parts"]), (&json!([]), &json!([])));
        assert!(open.get("result").is_none() && open.get("error").is_none());

        let end = |outcome| vec![event(console.clone()), event(EventKind::Ended { outcome })];
        let kept = end(Outcome::Stored(handle()));
        let kept = json!(RunDetails::new(&info(RunState::Succeeded), &kept, None));
        assert_eq!(kept["stored"]["bytes"], 300_000);
        let mut error = Error::new(Kind::Tool, "no");
        error.details = Some(json!({ "more": 1 }));
        let failed = end(Outcome::Error(error));
        let failed = json!(RunDetails::new(&info(RunState::Failed), &failed, None));
        assert_eq!(failed["error"]["details"]["more"], 1);
    }
}
