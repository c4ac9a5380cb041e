//! A program of steps is a run: followed, cancelled and bounded, and without an isolate.

use std::fs;

use mux_proto::{Event, EventKind, Kind, RunState};
use serde_json::{Value, json};

use crate::{
    client::{Client, within},
    home::Home,
};

async fn with_client() -> (Home, Client) {
    let home = Home::with_fixtures(&[("fix", &[])]);
    let client = Client::deaf(&home).await;
    (home, client)
}

/// The events of steps and calls as short strings.
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
    let (_home, client) = with_client().await;
    let program = json!({ "steps": [
        { "id": "a", "tool": "fix.fail", "args": { "message": "no" }, "on_error": "continue" },
        { "id": "b", "tool": "fix.echo", "args": { "text": "{{a}}" } },
        { "id": "c", "tool": "fix.echo", "args": { "text": "x" }, "after": ["b"] },
    ] });
    let run = client.start(&program, false).await;
    let expected = [
        "a begins",
        "call fix.fail",
        "a fails",
        "b is skipped",
        "c begins",
        "call fix.echo",
        "c ends",
    ];
    assert_eq!(words(&client.events(&run).await), expected);
    let summary = client.summary(&run).await;
    assert_eq!(summary["result"], "x");
    assert_eq!(summary["steps"].as_array().unwrap().len(), 3);
    let info = client.rpc.run_info(within(), run).await.unwrap().unwrap();
    assert_eq!(info.title, "3 steps: fix.fail, fix.echo, fix.echo");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_program_cancels_its_calls_and_reports_its_steps() {
    let (_home, client) = with_client().await;
    let program = json!({ "steps": [
        { "id": "a", "tool": "fix.echo", "args": { "text": "x" } },
        { "id": "b", "tool": "fix.hang", "after": "a" },
        { "id": "c", "tool": "fix.echo", "args": { "text": "{{b}}" } },
    ] });
    let run = client.start(&program, false).await;
    let hangs = |event: &Event| matches!(&event.event, EventKind::CallStarted { path, .. } if path == "fix.hang");
    client.events_until(&run, hangs).await;
    let cancelled = client.rpc.cancel_run(within(), run.clone());
    cancelled.await.unwrap().unwrap();
    let error = client.failure(&run).await;
    assert_eq!(error.kind, Kind::Cancelled);
    let steps = &error.details.unwrap()["steps"];
    assert_eq!(steps[0]["status"], "ok");
    assert_eq!(
        (&steps[1]["status"], &steps[1]["error"]["kind"]),
        (&json!("failed"), &json!("cancelled"))
    );
    assert_eq!(steps[2]["status"], "skipped");
    let info = client.rpc.run_info(within(), run).await.unwrap().unwrap();
    assert_eq!(info.state, RunState::Failed);
    let cancelled = client.call("cancelled", json!({})).await;
    assert_eq!(cancelled.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_with_side_effects_run_in_order() {
    let (home, client) = with_client().await;
    let file = home.path("marks");
    let step = |n: usize| {
        let args = json!({ "file": file, "line": n.to_string() });
        json!({ "id": format!("s{n}"), "tool": "fix.side_effect", "args": args })
    };
    let program = json!({ "steps": (0..20).map(step).collect::<Vec<Value>>() });
    let run = client.start(&program, false).await;
    assert_eq!(client.summary(&run).await["result"], "done");
    let lines = fs::read_to_string(&file).unwrap();
    let expected = (0..20).map(|n| format!("{n}\n"));
    assert_eq!(lines, expected.collect::<String>());
}

#[tokio::test(flavor = "multi_thread")]
async fn step_whose_server_died_has_unknown_outcome() {
    let (home, client) = with_client().await;
    let file = home.path("marks");
    let program = json!({ "steps": [
        { "id": "a", "tool": "fix.die_before", "args": { "file": file, "line": "once" } },
        { "id": "b", "tool": "fix.echo", "args": { "text": "{{a}}" } },
    ] });
    let run = client.start(&program, false).await;
    let error = client.failure(&run).await;
    assert_eq!(error.kind, Kind::UnknownOutcome);
    assert_eq!(error.path.as_deref(), Some("fix.die_before"));
    let steps = &error.details.unwrap()["steps"];
    assert_eq!(steps[0]["error"]["kind"], "unknown_outcome");
    assert_eq!(steps[1]["status"], "skipped");
    assert_eq!(fs::read_to_string(&file).unwrap(), "once\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn program_with_more_steps_than_the_call_limit_is_refused() {
    let (home, client) = with_client().await;
    let step = |n| json!({ "id": format!("s{n}"), "tool": "fix.pid" });
    let program = json!({ "steps": (0..10_000).map(step).collect::<Vec<_>>() });
    let run = client.start(&program, false).await;
    let error = format!("{:?}", client.failure(&run).await);
    for part in ["10000 steps", "limit of 1000", "[limits] calls"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(home.starts("fix"), 0);
}
