//! Runs that outlive the client that started them.

use std::{fs, time::Duration};

use mux_proto::{EventKind, Kind, Outcome, RunState};
use mux_tests::{TestEnv, process};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{call, client, failed, info, outcome, start, until};

#[tokio::test(flavor = "multi_thread")]
async fn detached_run_continues_without_its_client_and_its_outcome_can_be_read() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let first = client(&env).await;
    let code = "await mux.fix.barrier({ name: 'go', parties: 2 }); return 'done'";
    let detached = start(&first, code, true).await;
    let attached = start(&first, "await mux.fix.hang({})", false).await;
    for run in [&detached, &attached] {
        until(&first, run, |kind| {
            matches!(kind, EventKind::CallStarted { .. })
        })
        .await;
    }
    drop(first);

    let second = client(&env).await;
    // The attached run is cancelled, so the daemon has noticed the disconnect.
    assert_eq!(
        failed(outcome(&second, &attached).await).kind,
        Kind::Cancelled
    );
    let seen = info(&second, &detached).await.unwrap();
    assert_eq!((seen.state, seen.detached), (RunState::Running, true));
    let go = json!({ "name": "go", "parties": 2 });
    call(&second, "fix.barrier", go).await.unwrap();
    assert_eq!(
        outcome(&second, &detached).await,
        Outcome::Result(json!("done").into())
    );
    assert_eq!(
        info(&second, &detached).await.unwrap().state,
        RunState::Succeeded
    );
}

/// A program that writes the file `mark` after `ms` milliseconds.
fn leaving_a_mark(env: &TestEnv, ms: u64) -> String {
    let mark: Value = json!({ "file": env.path("mark"), "line": "done" });
    format!("await mux.fix.sleep({{ ms: {ms} }}); await mux.fix.side_effect({mark})")
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_daemon_exits_only_after_a_detached_run() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!("{fix}[daemon]\nidle_exit = \"1s\"\n"));
    let session = client(&env).await;
    let daemon = env.daemon().unwrap();
    start(&session, &leaving_a_mark(&env, 3000), true).await;
    drop(session);
    assert!(process::wait_for_end(daemon, Duration::from_mins(1)));
    assert_eq!(fs::read_to_string(env.path("mark")).unwrap(), "done\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_a_detached_run_finish() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let daemon = env.serve();
    let session = client(&env).await;
    let run = start(&session, &leaving_a_mark(&env, 800), true).await;
    until(&session, &run, |kind| {
        matches!(kind, EventKind::CallStarted { .. })
    })
    .await;
    drop(session);
    daemon.signal(Signal::SIGTERM);
    assert!(daemon.end().success());
    assert_eq!(fs::read_to_string(env.path("mark")).unwrap(), "done\n");
}
