//! Shutdown on request: runs may finish, and new requests are refused or go to the next daemon.

use mux_client::ClientIdentity;
use mux_proto::{Kind, Outcome, RunRequest};
use mux_tests::{
    TestEnv,
    process::{self, Tree},
};
use nix::sys::signal::Signal;

use super::{PROMISE, SOON};

const SLOW_RUN: &str =
    "console.log('in flight'); await mux.fix.sleep({ ms: 800 }); return 'finished'";
const ENDLESS_RUN: &str = "console.log('in flight'); await mux.fix.sleep({ ms: 60000 })";

fn identity() -> ClientIdentity {
    ClientIdentity::new("test", "0")
}

#[test]
fn sigterm_lets_a_run_finish_and_new_clients_start_the_next_daemon() {
    let env = TestEnv::with_fixtures(&[("fix", &["--grandchild", "--setsid"])]);
    let old = env.serve();
    let mut run = env.begin(["run", "-e", SLOW_RUN]);
    run.wait_for("in flight");
    let tree = Tree::of(old.pid());
    old.signal(Signal::SIGTERM);
    let newcomer = env.begin(["run", "-e", "return 'new'"]);
    assert_eq!(run.wait().ok().stdout.trim(), "finished");
    assert_eq!(newcomer.wait().ok().stdout.trim(), "new");
    assert_ne!(env.daemon(), Some(old.pid()));
    assert!(old.end().success());
    assert!(tree.left_after(PROMISE).is_empty());
}

#[test]
fn shutdown_leaves_no_socket_lock_or_process() {
    let env = TestEnv::with_fixtures(&[("fix", &["--ignore-eof", "--grandchild"])]);
    let daemon = env.serve();
    env.result("return await mux.fix.pid({})");
    let tree = Tree::of(daemon.pid());
    daemon.signal(Signal::SIGTERM);
    assert!(daemon.end().success());
    assert!(!env.dirs.socket().exists());
    let lock = std::fs::File::open(env.dirs.instance_lock()).unwrap();
    assert!(lock.try_lock().is_ok());
    assert!(tree.left_after(PROMISE).is_empty());
}

#[test]
fn sigterm_lets_a_single_call_finish() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let log = env.path("calls");
    env.write_config(&env.fixture("fix", &["--call-log", log.to_str().unwrap()]));
    let old = env.serve();
    env.result("return await mux.fix.pid({})");
    let call = env.begin(["call", "fix.sleep", "ms=800"]);
    env.until_called(&log, "sleep", 1, "fix.pid");
    old.signal(Signal::SIGTERM);
    assert_eq!(call.wait().ok().stdout.trim(), "slept 800 ms");
    assert!(old.end().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn second_sigterm_cancels_runs_and_clients_get_their_outcome() {
    let env = TestEnv::with_fixtures(&[("fix", &["--ignore-term", "--ignore-eof"])]);
    let daemon = env.serve();
    let session = mux_client::connect(&env.dirs, &identity()).await.unwrap();
    let mut run = env.begin(["--json", "run", "-e", ENDLESS_RUN]);
    run.wait_for("in flight");
    let tree = Tree::of(daemon.pid());
    daemon.signal(Signal::SIGTERM);
    // After the signal, open connections cannot start new runs.
    let refused = loop {
        let source = "return 1".to_owned();
        let request = RunRequest {
            source,
            ..RunRequest::default()
        };
        match mux_client::run(&session, request, |_| {}).await {
            Ok(finished) => assert!(matches!(finished.outcome, Outcome::Result(_))),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind, Kind::Unavailable, "{refused:?}");
    daemon.signal(Signal::SIGTERM);
    run.wait().fails(130, &["\"cancelled\""]);
    assert!(tree.left_after(PROMISE).is_empty());
    assert!(daemon.end().success());
}

#[test]
fn stop_waits_for_runs_and_stop_now_does_not() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut run = env.begin(["run", "-e", SLOW_RUN]);
    run.wait_for("in flight");
    let old = env.daemon().unwrap();
    // Two requests to stop have the effect of one: the run still finishes.
    let stops = [env.begin(["stop"]), env.begin(["stop"])];
    assert_eq!(run.wait().ok().stdout.trim(), "finished");
    for stop in stops {
        stop.wait().ok();
    }
    assert!(process::wait_for_end(old, PROMISE));

    let mut run = env.begin(["run", "-e", ENDLESS_RUN]);
    run.wait_for("in flight");
    let stopped = env.mux(["--json", "stop", "--now"]).ok().json();
    assert_eq!(stopped["stopped"], true);
    run.wait().fails(130, &["cancelled"]);
    assert_eq!(env.mux(["stop"]).ok().stdout.trim(), "no muxd is running");
}

#[test]
fn stop_waits_for_a_drain_and_stop_now_cuts_it_short() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let daemon = env.serve();
    let mut run = env.begin(["run", "-e", ENDLESS_RUN]);
    run.wait_for("in flight");
    // The daemon answers when the drain has begun. The command then waits for its end.
    let first = env.begin(["stop"]);
    while std::os::unix::net::UnixStream::connect(env.dirs.socket()).is_ok() {}
    let waiting = env.begin(["stop"]);
    let pid = daemon.pid().to_string();
    env.mux(["stop", "--now"])
        .ok()
        .fails(0, &[&pid, "has exited"]);
    run.wait().fails(130, &["cancelled"]);
    for stop in [first, waiting] {
        stop.wait().fails(0, &[&pid, "has exited"]);
    }
    assert!(daemon.end().success());
}

#[test]
fn restart_replaces_the_daemon_while_clients_connect() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return await mux.fix.pid({})");
    let mut seen = Vec::new();
    for round in 0..4 {
        let code = |n: usize| format!("return (await mux.fix.add({{ a: {round}, b: {n} }})).sum");
        let before: Vec<_> = (0..6)
            .map(|n| env.begin(["--json", "run", "-e", &code(n)]))
            .collect();
        let restart = env.begin(["--json", "restart"]);
        let after: Vec<_> = (6..12)
            .map(|n| env.begin(["--json", "run", "-e", &code(n)]))
            .collect();
        for (n, client) in before.into_iter().chain(after).enumerate() {
            assert_eq!(client.wait().ok().json()["result"], round + n);
        }
        seen.push(restart.wait().ok().json()["pid"].clone());
    }
    seen.dedup();
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert_eq!(env.daemon().map(std::convert::Into::into), seen.pop());
}

#[test]
fn slow_predecessor_is_awaited_before_its_server_starts_again() {
    let env = TestEnv::with_fixtures(&[("fix", &["--ignore-term", "--ignore-eof"])]);
    env.result("return await mux.fix.pid({})");
    let old = env.daemon().unwrap();
    process::send(old, Signal::SIGTERM);
    // The old server takes 4 s to exit, and two processes of one server never run at the same time. The first
    // clients may still reach the old daemon.
    while env.starts("fix").len() == 1 {
        env.result("return await mux.fix.pid({})");
    }
    let starts = env.starts("fix");
    assert_eq!(starts.len(), 2);
    assert!(!process::is_alive(starts[0]));
    assert!(process::wait_for_end(old, SOON));
}
