//! A program of steps is a run: followed, cancelled, bounded, and without an isolate.

use std::fs;

use mux_client::{ClientIdentity, Session, within_seconds};
use mux_proto::{Error, Event, EventKind, Kind, Language, Outcome, RunRequest, RunState};
use mux_tests::{TestEnv, env::binary, frames::Wire};
use serde_json::{Value, json};

async fn client(env: &TestEnv) -> Session {
    mux_client::connect_or_spawn(
        &env.dirs,
        Some(binary("muxd")),
        &ClientIdentity::new("test", "0"),
    )
    .await
    .unwrap()
}

fn request(program: &Value) -> RunRequest {
    RunRequest {
        source: program.to_string(),
        language: Language::Json,
        timeout_ms: Some(60_000),
        ..RunRequest::default()
    }
}

/// All events of a program, and how it ended.
async fn ran(session: &Session, program: &Value) -> (Vec<Event>, Outcome) {
    let mut events = Vec::new();
    let run = mux_client::run(session, request(program), |event| {
        events.push(event.clone())
    });
    let outcome = run.await.unwrap().outcome;
    (events, outcome)
}

#[track_caller]
fn failed(outcome: Outcome) -> Error {
    match outcome {
        Outcome::Error(error) => error,
        other => panic!("{other:?}"),
    }
}

/// The events of steps and calls as short texts.
fn words(events: &[Event]) -> Vec<String> {
    let word = |event: &Event| match &event.event {
        EventKind::StepStarted { step, .. } => Some(format!("{step} begins")),
        EventKind::StepEnded {
            step, error: None, ..
        } => Some(format!("{step} ends")),
        EventKind::StepEnded { step, .. } => Some(format!("{step} fails")),
        EventKind::StepSkipped { step, .. } => Some(format!("{step} is skipped")),
        EventKind::CallStarted { path, .. } => Some(format!("call {path}")),
        _ => None,
    };
    events.iter().filter_map(word).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn step_and_call_events_are_in_order_and_the_run_is_listed() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let session = client(&env).await;
    let program = json!({ "steps": [
        { "id": "a", "tool": "fix.fail", "args": { "message": "no" }, "on_error": "continue" },
        { "id": "b", "tool": "fix.echo", "args": { "text": "{{a}}" } },
        { "id": "c", "tool": "fix.echo", "args": { "text": "x" }, "after": ["b"] },
    ] });
    let (events, outcome) = ran(&session, &program).await;
    let expected = [
        "a begins",
        "call fix.fail",
        "a fails",
        "b is skipped",
        "c begins",
        "call fix.echo",
        "c ends",
    ];
    assert_eq!(words(&events), expected);
    let Outcome::Result(summary) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(summary.to_value()["result"], "x");
    let listed = env.mux(["runs"]).ok().stdout;
    assert!(
        listed.contains("3 steps: fix.fail, fix.echo, fix.echo"),
        "{listed}"
    );
    let shown = env.mux(["runs", "show", "1"]).ok().stdout;
    for line in [
        "\u{2717} a  fix.fail",
        "\u{2013} b  fix.echo  skipped",
        "\u{2713} c  fix.echo",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let whole = env.mux(["--json", "runs", "show", "1"]).json();
    assert_eq!(whole["steps"].as_array().unwrap().len(), 3);
    assert_eq!(whole["result"], "x");
}

#[test]
fn client_without_step_events_gets_console_lines() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.mux(["servers"]).ok();
    let mut wire = Wire::connect(&env.dirs.socket());
    let hello = json!({ "Hello": { "hello": {
        "contract": 5, "build": "0", "client": { "name": "old", "version": "0" }, "features": ["run"],
    } } });
    assert!(wire.call(&hello)["message"]["Ok"]["Hello"]["Ok"].is_object());
    let program = json!({ "steps": [{ "id": "a", "tool": "fix.echo", "args": { "text": "x" } }] });
    let start =
        json!({ "StartRun": { "request": { "source": program.to_string(), "language": "json" } } });
    let run = wire.call(&start)["message"]["Ok"]["StartRun"]["Ok"]["run"].take();
    let mut said = String::new();
    let mut after = 0;
    while !said.contains("\"ended\"") {
        let request = json!({ "run": run, "after": after, "wait_ms": 20_000 });
        let page = wire.call(&json!({ "Events": { "request": request } }));
        let events = page["message"]["Ok"]["Events"]["Ok"]["events"].clone();
        after += events.as_array().unwrap().len();
        said.push_str(&events.to_string());
    }
    assert!(said.contains("step a (fix.echo) begins"), "{said}");
    assert!(said.contains("step a (fix.echo) gave 3 bytes"), "{said}");
    assert!(!said.contains("step_"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_program_cancels_its_calls_and_reports_its_steps() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let session = client(&env).await;
    let program = json!({ "steps": [
        { "id": "a", "tool": "fix.echo", "args": { "text": "x" } },
        { "id": "b", "tool": "fix.hang", "after": "a" },
        { "id": "c", "tool": "fix.echo", "args": { "text": "{{b}}" } },
    ] });
    let run = mux_client::start(&session, request(&program))
        .await
        .unwrap();
    let follow = mux_client::watch(&session, &run, 0, |event| {
        if matches!(&event.event, EventKind::CallStarted { path, .. } if path == "fix.hang") {
            let (session, run) = (session.clone(), run.clone());
            tokio::spawn(async move {
                let asked = session.client.cancel_run(within_seconds(60), run);
                asked.await.unwrap().unwrap();
            });
        }
    });
    let error = failed(follow.await.unwrap().outcome);
    assert_eq!(error.kind, Kind::Cancelled);
    let steps = &error.details.unwrap()["steps"];
    assert_eq!(steps[0]["status"], "ok");
    assert_eq!(
        (&steps[1]["status"], &steps[1]["error"]["kind"]),
        (&json!("failed"), &json!("cancelled"))
    );
    assert_eq!(steps[2]["status"], "skipped");
    let info = session.client.run_info(within_seconds(60), run);
    assert_eq!(info.await.unwrap().unwrap().state, RunState::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn program_times_out_and_names_the_step() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let program = json!({ "steps": [{ "id": "a", "tool": "fix.hang" }] }).to_string();
    let output = env.mux(["program", "--timeout", "1s", "-e", &program]);
    output.fails(124, &["longer than its 1 s", "step `a` (fix.hang)"]);
}

#[test]
fn program_of_steps_needs_no_worker() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!("{fix}[limits]\nworkers = 1\n"));
    let mut busy = env.begin(["run", "-e", "console.error('busy'); await mux.fix.hang({})"]);
    busy.wait_for("busy");
    let program =
        json!({ "steps": [{ "id": "a", "tool": "fix.echo", "args": { "text": "free" } }] });
    assert_eq!(
        env.mux(["program", "-e", &program.to_string()]).ok().stdout,
        "free\n"
    );
}

#[test]
fn steps_with_side_effects_run_in_order() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let file = env.path("marks");
    let steps: Vec<Value> = (0..20)
        .map(|n| {
            let args = json!({ "file": file, "line": n.to_string() });
            json!({ "id": format!("s{n}"), "tool": "fix.side_effect", "args": args })
        })
        .collect();
    let program = json!({ "steps": steps }).to_string();
    assert_eq!(env.mux(["program", "-e", &program]).ok().stdout, "done\n");
    let lines: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    assert_eq!(
        fs::read_to_string(&file)
            .unwrap()
            .lines()
            .collect::<Vec<_>>(),
        lines
    );
}

#[test]
fn step_whose_server_died_has_unknown_outcome() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let file = env.path("marks");
    let program = json!({ "steps": [
        { "id": "a", "tool": "fix.die_before", "args": { "file": file, "line": "once" } },
        { "id": "b", "tool": "fix.echo", "args": { "text": "{{a}}" } },
    ] });
    let output = env.mux(["program", "--json", "-e", &program.to_string()]);
    assert_eq!(output.code, 6, "{output:?}");
    let document = output.json();
    assert_eq!(document["error"]["kind"], "unknown_outcome");
    assert_eq!(document["error"]["path"], "fix.die_before");
    assert_eq!(document["error"]["details"], json!({ "step": "a" }));
    assert_eq!(document["steps"][0]["error"]["kind"], "unknown_outcome");
    assert_eq!(document["steps"][1]["status"], "skipped");
    assert_eq!(fs::read_to_string(&file).unwrap(), "once\n");
}

#[test]
fn program_with_more_steps_than_the_call_limit_is_refused() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let step = |n| json!({ "id": format!("s{n}"), "tool": "fix.pid" });
    let program = json!({ "steps": (0..10_000).map(step).collect::<Vec<_>>() });
    let output = env.mux_with_input(["program", "-"], program.to_string().as_bytes());
    output.fails(1, &["10000 steps", "limit of 1000", "[limits] calls"]);
    assert!(env.starts("fix").is_empty());
}
