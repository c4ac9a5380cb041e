//! Clients that are killed or disconnect leave no process running.

use std::{fs, time::Duration};

use mux_client::{ClientIdentity, within_seconds};
use mux_proto::{EventsRequest, RunRequest};
use mux_tests::{Running, TestEnv, process};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::PROMISE;

/// Starts a run that waits for a call that never ends, and returns when the server has received the call.
fn hanging(env: &TestEnv) -> Running {
    let mut run = env.begin([
        "run",
        "-e",
        "const hung = mux.fix.hang({}); await mux.fix.echo({ text: '' }); console.log('sent'); await hung",
    ]);
    run.wait_for("sent");
    run
}

/// Polls the server until it has received a cancellation, and returns the ids of the cancelled requests.
fn cancellations(env: &TestEnv) -> Vec<Value> {
    for _ in 0..200 {
        let cancelled = env.result("return await mux.fix.cancelled({})");
        if let Some(ids) = cancelled.as_array().filter(|ids| !ids.is_empty()) {
            return ids.clone();
        }
    }
    panic!("the server was not told");
}

#[test]
fn run_of_killed_client_is_cancelled_at_the_server() {
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let env = TestEnv::new();
        let log = env.path("calls");
        env.write_config(&env.fixture("fix", &["--call-log", log.to_str().unwrap()]));
        let run = hanging(&env);
        run.signal(signal);
        run.wait();
        let cancelled = cancellations(&env);
        let calls = fs::read_to_string(&log).unwrap();
        let hung = calls
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let hung: Vec<Value> = hung.filter(|call| call["tool"] == "hang").collect();
        assert_eq!(hung.len(), 1);
        assert_eq!(cancelled, [hung[0]["id"].clone()]);
        let status = env.mux(["--json", "status"]).ok().json();
        assert_eq!(status["runs"]["running"], 0, "{signal}: {status:#}");
        assert_eq!(status["servers"][0]["in_flight"], 0);
        assert_eq!(env.starts("fix").len(), 1);
    }
}

#[test]
fn call_of_killed_client_is_cancelled_at_the_server() {
    let env = TestEnv::new();
    let log = env.path("calls");
    env.write_config(&env.fixture("fix", &["--call-log", log.to_str().unwrap()]));
    env.result("return await mux.fix.pid({})");
    let call = env.begin(["call", "fix.hang"]);
    env.until_called(&log, "hang", 1, "fix.pid");
    call.signal(Signal::SIGKILL);
    call.wait();
    assert_eq!(cancellations(&env).len(), 1);
}

#[test]
fn endless_loop_of_killed_client_frees_its_worker() {
    let env = TestEnv::new();
    let mut run = env.begin(["run", "-e", "console.log('looping'); for (;;);"]);
    run.wait_for("looping");
    let daemon = env.daemon().unwrap();
    // No other worker uses half a second of CPU time. Meanwhile, no other program runs.
    let looping = loop {
        env.mux(["status"]).ok();
        let busy = |pid: &i32| process::cpu_time(*pid) > Duration::from_millis(500);
        if let Some(pid) = process::descendants(daemon).into_iter().find(busy) {
            break pid;
        }
    };
    assert!(process::command_line(looping).contains("mux-worker"));
    run.signal(Signal::SIGKILL);
    run.wait();
    let left = process::Tree::watch([looping]).left_after(PROMISE);
    assert!(left.is_empty(), "{left:#?}");
    assert_eq!(env.result("return 1"), 1);
}

#[test]
fn client_with_closed_output_ends_and_cancels_its_run() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut run = hanging(&env);
    let daemon = env.daemon();
    run.close_output();
    run.signal(Signal::SIGHUP);
    run.end();
    assert_eq!(cancellations(&env).len(), 1);
    assert_eq!(env.daemon(), daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn run_events_outlive_the_connection_that_started_the_run() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let me = ClientIdentity::new("test", "0");
    let owner = mux_client::connect_or_spawn(&env.dirs, Some(mux_tests::env::binary("muxd")), &me)
        .await
        .unwrap();
    let reader = mux_client::connect(&env.dirs, &me).await.unwrap();
    let request = RunRequest {
        source: "console.log('kept'); await mux.fix.sleep({ ms: 60000 })".into(),
        ..RunRequest::default()
    };
    let started = owner.client.start_run(within_seconds(5), request).await;
    let run = started.unwrap().unwrap().run;
    let mut owner = Some(owner);
    let mut seen: Vec<Value> = Vec::new();
    while !seen.iter().any(|event| event["event"]["ended"].is_object()) {
        let request = EventsRequest {
            run: run.clone(),
            after: seen.len() as u64,
            wait_ms: 20_000,
        };
        let page = reader.client.events(within_seconds(30), request).await;
        let page = json!(page.unwrap().unwrap());
        seen.extend(page["events"].as_array().unwrap().iter().cloned());
        if seen
            .iter()
            .any(|event| event["event"]["console"].is_object())
        {
            drop(owner.take());
        }
    }
    let kinds = |name: &str| {
        seen.iter()
            .filter(|event| !event["event"][name].is_null())
            .count()
    };
    assert_eq!((kinds("console"), kinds("ended")), (1, 1), "{seen:#?}");
    let last = seen.last().unwrap();
    assert_eq!(
        last["event"]["ended"]["outcome"]["error"]["kind"],
        "cancelled"
    );
}
