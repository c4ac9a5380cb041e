//! Recordings of runs, written from random calls, then changed and damaged.

use mux_chance::{
    broken,
    damage::{Damage, damage_of, damaged},
    holds,
    json::{self, Change, change, changed},
};
use mux_secrets::KnownSecrets;
use mux_wire::{CallTarget, Fault, FaultKind};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::Value;

use super::super::{MAX_RECORDING_BYTES, RunRecording, recording_of};
use mux_journal::{BegunCall, JournalOptions, PastMode, Program, RunJournal};

const WORDS: &[&str] = &[
    "muxd_recording",
    "recorded_ms",
    "program",
    "calls",
    "outcome",
    "result",
    "error",
    "open",
    "arguments",
    "raw",
    "at_ms",
    "ms",
    "tool",
    "source",
    "input",
    "steps",
    "names",
    "timeout_ms",
    "kind",
    "message",
];
const TOKENS: &[&str] = &[
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "1e999",
    "-1",
    "NaN",
    "\\ud800",
    "\0",
    "\"ms\":-5",
];

#[derive(Clone, Debug)]
struct Call {
    tool: &'static str,
    arguments: Value,
    outcome: Option<Result<Value, String>>,
}

fn call() -> impl Strategy<Value = Call> {
    let outcome = prop_oneof![
        3 => json::strange().prop_map(|value| Some(Ok(value))),
        1 => any::<String>().prop_map(|text| Some(Err(text))),
        1 => Just(None),
    ];
    (select(&["s.a", "s.b"][..]), json::value(), outcome).prop_map(|(tool, arguments, outcome)| {
        Call {
            tool,
            arguments,
            outcome,
        }
    })
}

fn target(tool: &str) -> CallTarget {
    CallTarget::Path {
        path: tool.into(),
        raw: false,
    }
}

fn recorded(calls: &[Call]) -> String {
    let options = JournalOptions {
        max_call_bytes: MAX_RECORDING_BYTES,
        ..JournalOptions::default()
    };
    let program = Program {
        source: "return 1".into(),
        input: "null".into(),
        ..Program::default()
    };
    let run = RunJournal::new("a-1".into(), program, options);
    for call in calls {
        let arguments = call.arguments.to_string();
        let BegunCall::New(index) = run.begin_call(&target(call.tool), &arguments.into()) else {
            panic!("each call is new");
        };
        if let Some(outcome) = &call.outcome {
            let outcome = match outcome {
                Ok(value) => Ok(value.to_string()),
                Err(text) => Err(Fault::new(FaultKind::Tool, text.as_str())),
            };
            run.end_call(index, &outcome);
        }
    }
    recording_of(&run, "{}".into(), &Ok("1".into()), KnownSecrets::new()).unwrap()
}

fn replay_of(recording: RunRecording) -> std::sync::Arc<RunJournal> {
    let options = JournalOptions {
        past: recording.into_calls(),
        past_mode: PastMode::Replay,
        ..JournalOptions::default()
    };
    RunJournal::new("a-2".into(), Program::default(), options)
}

#[test]
fn fuzz_recorded_calls_are_replayed_and_a_damaged_recording_is_refused_whole() {
    let values = (
        vec(call(), 0..6),
        vec(change(WORDS), 0..3),
        vec(damage_of(TOKENS), 0..3),
    );
    let property = |(calls, changes, damages): (Vec<Call>, Vec<Change>, Vec<Damage>)| {
        let text = recorded(&calls);
        let recording = RunRecording::parse(&text).map_err(|fault| broken(fault.message))?;
        prop_assert_eq!(recording.calls.len(), calls.len());
        let replay = replay_of(recording);
        for call in &calls {
            let arguments = call.arguments.to_string();
            let replayed = replay.begin_call(&target(call.tool), &arguments.into());
            match (replayed, &call.outcome) {
                (BegunCall::Never, None) => {}
                (BegunCall::Known(Ok(text), _), Some(Ok(value))) => {
                    prop_assert_eq!(text.as_ref(), value.to_string());
                }
                (BegunCall::Known(Err(_), _), Some(Err(_))) => {}
                (replayed, outcome) => {
                    return Err(broken(format!("{replayed:?} in place of {outcome:?}")));
                }
            }
        }
        let value: Value = match serde_json::from_str(&text) {
            Ok(value) => changed(value, &changes),
            // Deeper than the reader allows.
            Err(_) => Value::from(text),
        };
        let bytes = damaged(value.to_string(), &damages);
        match RunRecording::parse(&String::from_utf8_lossy(&bytes)) {
            Ok(recording) => {
                let replay = replay_of(recording);
                for call in &calls {
                    let arguments = call.arguments.to_string();
                    drop(replay.begin_call(&target(call.tool), &arguments.into()));
                }
            }
            Err(fault) => prop_assert_eq!(fault.kind, FaultKind::Validation, "{}", fault.message),
        }
        Ok(())
    };
    holds("recordings", 150, values, property);
}
