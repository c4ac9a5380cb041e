//! The output of `mux runs show`.

use std::{collections::BTreeMap, process::ExitCode};

use super::terminal::println;
use mux_proto::{Event, EventKind, Level, Outcome, RunInfo};
use serde_json::{Map, Value, json};

use super::{
    Record, amounts, document,
    failure::describe,
    live, parts, plain, printed, record,
    runs::{TITLE, calls, now, state_name},
    shown,
    style::{DIM, ERROR, STRONG, WARN, harmless, one_line, paint},
};

/// Prints a run with its events.
pub(crate) fn run(info: &RunInfo, events: &[Event], json: bool) -> ExitCode {
    if json {
        document(&whole(info, events));
        return ExitCode::SUCCESS;
    }
    head(info);
    let mut record = Record::default();
    for event in events {
        record.add(event);
        happened(event, record.is_of_steps());
    }
    match outcome(events).map(|outcome| record.ended(outcome.clone())) {
        None => {
            for line in on_their_way(events) {
                println!("{}", paint(DIM, format!("  \u{2026} {line}")));
            }
            super::note(&format!("`mux runs watch {}` follows it", info.run));
            ExitCode::SUCCESS
        }
        Some(Outcome::Result(value)) => printed(plain(&value)),
        Some(Outcome::Stored(handle)) => {
            println!("{}\u{2026}", harmless(&handle.preview));
            let size = amounts::bytes(handle.bytes);
            super::note(&format!(
                "{size} in all; `{}` reads it",
                record::how_to_read(&handle)
            ));
            ExitCode::SUCCESS
        }
        Some(Outcome::Error(error)) => {
            describe(&error, None);
            ExitCode::SUCCESS
        }
    }
}

fn outcome(events: &[Event]) -> Option<&Outcome> {
    events.iter().find_map(|event| match &event.event {
        EventKind::Ended { outcome } => Some(outcome),
        _ => None,
    })
}

/// Calls in flight, with their last progress.
fn on_their_way(events: &[Event]) -> Vec<String> {
    let mut calls = BTreeMap::new();
    for event in events {
        match &event.event {
            EventKind::CallStarted { call, path } => {
                calls.insert(*call, one_line(path, 60));
            }
            EventKind::CallProgress {
                call,
                path,
                progress,
                total,
                message,
            } => {
                let line = live::moving(path, *progress, *total, message.as_deref());
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

fn whole(info: &RunInfo, events: &[Event]) -> Value {
    let mut whole = match serde_json::to_value(info) {
        Ok(Value::Object(info)) => info,
        _ => Map::new(),
    };
    let mut record = Record::default();
    for event in events {
        record.add(event);
    }
    if let Some(outcome) = outcome(events) {
        let outcome = record.ended(outcome.clone());
        whole.extend(record::ended(&outcome));
        // The error of the event has details.
        if let Outcome::Error(error) = &outcome {
            whole.insert("error".into(), json!(error));
        }
    }
    // `calls` of a run's info is a number; the events have the list.
    whole.shift_remove("calls");
    whole.extend(record.happened());
    whole.into()
}

fn head(info: &RunInfo) {
    println!("{} {}", paint(STRONG, "run"), info.run);
    let line = |what: &str, text: String| println!("{} {text}", paint(DIM, format!("{what:<8}")));
    let detached = if info.detached { ", detached" } else { "" };
    line("state", format!("{}{detached}", state_name(info)));
    line("program", one_line(&info.title, TITLE));
    line("client", one_line(&info.client, TITLE));
    if let Some(agent) = &info.agent {
        line("agent", one_line(agent, TITLE));
    }
    if let Some(workspace) = &info.workspace {
        line("from", one_line(&shown(workspace), 200));
    }
    line(
        "began",
        amounts::ago(now().saturating_sub(info.accepted_ms)),
    );
    line("took", amounts::took(info.ms as f64));
    line("calls", calls(info));
}

/// Prints an event like `mux run` does, with every call or step.
fn happened(event: &Event, of_steps: bool) {
    match &event.event {
        EventKind::Console { level, text } => {
            let text = harmless(text);
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
        } if !of_steps => println!("{}", live::line(path, *ms, *bytes, error.as_ref())),
        EventKind::StepEnded {
            step,
            tool,
            ms,
            bytes,
            error,
        } => {
            let name = live::step(step, tool);
            println!("{}", live::line(&name, *ms, *bytes, error.as_ref()));
        }
        EventKind::StepSkipped { step, tool, reason } => {
            println!("{}", live::skipped(step, tool, reason));
        }
        EventKind::ApprovalAsked(asked) => println!(
            "{} {}  {}",
            paint(WARN, "asked:"),
            asked.approval,
            one_line(&asked.path, 100)
        ),
        EventKind::ApprovalOver(over) => {
            let ending = format!("{:?}", over.ending).to_lowercase();
            println!("{} {}  {ending}", paint(WARN, "answered:"), over.approval);
        }
        EventKind::Emitted { part } => {
            println!("{} {}", paint(DIM, "part:"), parts::described(part));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use mux_proto::{Error, Kind, RunState};

    use super::{
        super::{record::tests::handle, runs::tests::info},
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
        assert_eq!(on_their_way(&events), ["a.b  50 %", "a.b"]);
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
        let open = whole(&info(RunState::Running), &[event(console.clone())]);
        assert_eq!(
            (&open["state"], &open["run"]),
            (&json!("running"), &json!("9f-7"))
        );
        assert_eq!(open["console"], json!([{ "level": "warn", "text": "hm" }]));
        assert_eq!((&open["calls"], &open["parts"]), (&json!([]), &json!([])));
        assert!(open.get("result").is_none() && open.get("error").is_none());

        let end = |outcome| vec![event(console.clone()), event(EventKind::Ended { outcome })];
        let kept = whole(&info(RunState::Succeeded), &end(Outcome::Stored(handle())));
        assert_eq!(kept["stored"]["bytes"], 300_000);
        assert_eq!(kept["hint"], "mux runs read h_1");
        let mut error = Error::new(Kind::Tool, "no");
        error.details = Some(json!({ "more": 1 }));
        let failed = whole(&info(RunState::Failed), &end(Outcome::Error(error)));
        assert_eq!(failed["error"]["details"]["more"], 1);
    }
}
