use std::sync::Arc;

use mux_journal::{BegunCall, JournalOptions, PastMode, Program};
use mux_wire::CallTarget;
use serde_json::json;

use super::*;

fn named(tool: &str) -> CallTarget {
    CallTarget::Path {
        path: tool.into(),
        raw: false,
    }
}

fn recorded_run(source: &str, input: &str) -> Arc<RunJournal> {
    let program = Program {
        source: source.into(),
        input: input.into(),
        ..Program::default()
    };
    let options = JournalOptions {
        max_call_bytes: MAX_RECORDING_BYTES,
        ..JournalOptions::default()
    };
    RunJournal::new("a-1".into(), program, options)
}

fn begin(run: &RunJournal, tool: &str, arguments: &str) -> Option<usize> {
    match run.begin_call(&named(tool), &arguments.into()) {
        BegunCall::New(index) => index,
        other => panic!("{tool} is new: {other:?}"),
    }
}

fn recorded(run: &RunJournal, known: KnownSecrets) -> Result<String, Fault> {
    recording_of(run, "{}".into(), &Ok("1".into()), known)
}

fn replay_of(text: &str) -> Arc<RunJournal> {
    let options = JournalOptions {
        past: RunRecording::parse(text).unwrap().into_calls(),
        past_mode: PastMode::Replay,
        ..JournalOptions::default()
    };
    RunJournal::new("a-2".into(), Program::default(), options)
}

#[test]
fn each_recorded_call_is_replayed_once_in_any_order() {
    let run = recorded_run("return 1", "null");
    for (tool, arguments, result) in [
        ("s.a", r#"{"x":1,"y":2}"#, Ok("1")),
        ("s.a", r#"{"x":1,"y":2}"#, Ok("2")),
        ("s.b", "{}", Err(FaultKind::Denied)),
    ] {
        let index = begin(&run, tool, arguments);
        let result = result.map(str::to_owned);
        run.end_call(index, &result.map_err(|kind| Fault::new(kind, "no")));
    }
    assert!(begin(&run, "s.c", "{}").is_some());
    let text = recorded(&run, KnownSecrets::new()).unwrap();
    assert_eq!(
        RunRecording::parse(&text).unwrap().program.source,
        "return 1"
    );
    let replay = replay_of(&text);
    let replayed =
        |tool: &str, arguments: &str| match replay.begin_call(&named(tool), &arguments.into()) {
            BegunCall::Known(outcome, _) => outcome
                .map(|text| text.to_string())
                .map_err(|fault| fault.kind),
            other => panic!("{tool} is sent: {other:?}"),
        };
    assert_eq!(replayed("s.b", "{ }"), Err(FaultKind::Denied));
    assert_eq!(replayed("s.a", r#"{"y":2,"x":1}"#), Ok("1".into()));
    assert_eq!(replayed("s.a", r#"{"x":1,"y":2}"#), Ok("2".into()));
    let more = replayed("s.a", r#"{"x":1,"y":2}"#);
    assert_eq!(more, Err(FaultKind::NotFound));
    let open = replay.begin_call(&named("s.c"), &"{}".into());
    assert!(matches!(open, BegunCall::Never));
    assert_eq!(replayed("s.d", "{}"), Err(FaultKind::NotFound));
}

#[test]
fn secrets_are_masked_consistently_so_that_calls_are_found() {
    let input = json!({ "token": "t0k3n-of-mine" }).to_string();
    let run = recorded_run("use('known-to-the-daemon')", &input);
    let index = begin(&run, "s.login", r#"{"with":"t0k3n-of-mine"}"#);
    run.end_call(index, &Ok(r#""known-to-the-daemon""#.into()));
    let mut known = KnownSecrets::new();
    known.add("known-to-the-daemon");
    let text = recorded(&run, known).unwrap();
    assert!(
        !text.contains("t0k3n") && !text.contains("known-to"),
        "{text}"
    );
    let recording = RunRecording::parse(&text).unwrap();
    let input: serde_json::Value = serde_json::from_str(recording.program.input.get()).unwrap();
    let arguments = json!({ "with": input["token"] }).to_string();
    let replay = replay_of(&text);
    let replayed = replay.begin_call(&named("s.login"), &arguments.into());
    let BegunCall::Known(Ok(result), _) = replayed else {
        panic!("it is sent: {replayed:?}");
    };
    assert_eq!(&*result, "\"***\"");
}

#[test]
fn known_values_and_secret_members_are_masked_everywhere() {
    let run = recorded_run("return 1", r#"{"user":"ada","password":"hunter22"}"#);
    let index = begin(
        &run,
        "s.a",
        r#"{"nested":[{"api_key":"k9-abcdef123456"}],"key":"name"}"#,
    );
    let token = format!("{}_{}", "ghp", "k9Qz3VxB7mTr1HjW5nYc".repeat(2));
    let said = json!({
        "said": "ada hunter22 k9-abcdef123456 name",
        "nested": r#"{"y":"from-the-\"env\""}"#,
        "text": format!("token {token}, https://u:hunter3@h/"),
    });
    run.end_call(index, &Ok(said.to_string()));
    let mut known = KnownSecrets::new();
    known.add("from-the-\"env\"");
    let text = recorded(&run, known).unwrap();
    for secret in [
        "hunter22",
        "k9-abcdef123456",
        "from-the",
        token.as_str(),
        "hunter3",
    ] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let shown = replay_of(&text);
    let calls = shown.calls().unwrap();
    let mux_journal::CallState::Ended(Ok(result)) = &calls[0].state else {
        panic!("it has ended");
    };
    let result: serde_json::Value = serde_json::from_str(result).unwrap();
    assert_eq!(result["said"], "ada *** *** name");
}

#[test]
fn oversized_and_invalid_recordings_are_rejected() {
    let run = recorded_run("", "null");
    let index = begin(&run, "s.a", "{}");
    run.end_call(index, &Ok("1".repeat(20 << 20)));
    assert_eq!(begin(&run, "s.a", "{}"), None);
    let fault = recorded(&run, KnownSecrets::new());
    assert_eq!(fault.unwrap_err().kind, FaultKind::Limit);
    for text in [
        "",
        "{}",
        "[]",
        r#"{"muxd_recording":99}"#,
        r#"{"muxd_recording":1}"#,
    ] {
        let fault = RunRecording::parse(text).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Validation, "{text}");
    }
}
