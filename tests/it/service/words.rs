//! The notifications of a daemon to systemd: ready, status, watchdog, stopping.

use std::io::ErrorKind;

use mux_tests::{
    TestEnv,
    frames::{self, Wire},
    process,
};
use nix::sys::signal::Signal;

use super::{Ear, HANG, activate, bound};

/// The variables that ask a daemon for notifications, with `WATCHDOG=1` four times per `WATCHDOG_USEC`.
fn variables(ear: &str) -> [(&str, &str); 2] {
    [("NOTIFY_SOCKET", ear), ("WATCHDOG_USEC", "2000000")]
}

#[test]
fn daemon_notifies_ready_status_and_stopping() {
    let env = TestEnv::new();
    let socket = bound(&env);
    let path = env.path("ear");
    let mut ear = Ear::at(&path);
    let daemon = activate(&env, socket, &variables(path.to_str().unwrap()));
    let first = ear.wait_for("READY=1");
    // A waiting client would be counted in the status.
    ear.wait_for("WATCHDOG=1");
    assert!(
        first
            .iter()
            .chain(&ear.heard)
            .any(|line| line == "STATUS=0 clients, 0 runs"),
        "{:?}",
        ear.heard
    );
    let mut run = env.begin([
        "run",
        "-e",
        "console.log('begun'); await new Promise(r => setTimeout(r, 60_000))",
    ]);
    run.wait_for("begun");
    ear.wait_for("STATUS=1 client, 1 run");
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["started"]["watchdog_ms"], 2000);
    run.signal(Signal::SIGINT);
    run.wait();
    env.mux(["stop", "--now"]).ok();
    let last = ear.wait_for("STOPPING=1");
    assert!(!last.contains(&"READY=1".to_owned()), "{last:?}");
    assert!(daemon.end().success());
}

#[test]
fn successor_notifies_in_place_of_the_old_daemon() {
    let env = TestEnv::new();
    let socket = bound(&env);
    let path = env.path("ear");
    let mut ear = Ear::at(&path);
    let kept = socket.try_clone().unwrap();
    let first = activate(&env, socket, &variables(path.to_str().unwrap()));
    ear.wait_for("READY=1");
    let mut run = env.begin([
        "run",
        "-e",
        "console.log('begun'); await new Promise(r => setTimeout(r, 3000)); return 7",
    ]);
    run.wait_for("begun");
    let output = env.mux(["--json", "restart", "--upgrade"]).ok().json();
    let mut heard = ear.wait_for(&format!("MAINPID={}", output["pid"]));
    heard.extend(ear.wait_for("WATCHDOG=1"));
    // The successor does not count the run of the old daemon.
    heard.extend(ear.wait_for("STATUS=0 clients, 0 runs"));
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["pid"], output["pid"]);
    assert_eq!(status["started"]["by"], "systemd");
    assert_eq!(status["started"]["socket_passed"], true);
    assert_eq!(status["started"]["watchdog_ms"], 2000);
    assert_eq!(run.wait().ok().stdout.trim(), "7");
    assert!(first.end().success());
    heard.extend(ear.wait_for("WATCHDOG=1"));
    assert!(!heard.contains(&"STOPPING=1".to_owned()), "{heard:?}");
    assert_eq!(env.result("return 8"), 8);
    env.mux(["stop"]).ok();
    ear.wait_for("STOPPING=1");
    let second = i32::try_from(output["pid"].as_i64().unwrap()).unwrap();
    assert!(process::wait_for_end(second, HANG));
    assert!(env.dirs.socket().exists(), "it is not ours to remove");
    // No connection is pending, for which systemd would start another daemon.
    let waiting = kept.accept().map(drop);
    assert_eq!(waiting.unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn watchdog_probe_is_not_counted_as_a_client() {
    let env = TestEnv::with_config("[daemon]\nidle_exit = \"3s\"\n");
    let socket = bound(&env);
    let path = env.path("ear");
    let mut ear = Ear::at(&path);
    let daemon = activate(&env, socket, &variables(path.to_str().unwrap()));
    for _ in 0..3 {
        ear.wait_for("WATCHDOG=1");
    }
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["clients"], 1, "only the one that asks");
    // The daemon's own connections do not prevent its idle exit.
    ear.wait_for("STOPPING=1");
    assert!(daemon.end().success());
}

#[test]
fn watchdog_continues_at_the_client_limit_while_notifications_are_unread() {
    let env = TestEnv::new();
    let socket = bound(&env);
    let path = env.path("ear");
    let mut ear = Ear::at(&path);
    let daemon = activate(&env, socket, &variables(path.to_str().unwrap()));
    ear.wait_for("READY=1");
    raise_descriptors();
    let mut crowd = Vec::new();
    loop {
        let mut wire = Wire::connect(&env.dirs.socket());
        // The daemon closes the connection above its limit, before or after it was sent something.
        if wire.try_call(&frames::hello(1)).is_none() {
            break;
        }
        crowd.push(wire);
    }
    assert!(crowd.len() > 4_000, "{} were let in", crowd.len());
    // No notification was read meanwhile, and that did not block the daemon.
    ear.wait_for(&format!("STATUS={} clients, 0 runs", crowd.len()));
    for _ in 0..3 {
        ear.wait_for("WATCHDOG=1");
    }
    drop(crowd);
    ear.wait_for("STATUS=0 clients, 0 runs");
    daemon.signal(Signal::SIGTERM);
    ear.wait_for("STOPPING=1");
    assert!(daemon.end().success());
}

/// Raises the limit of open files, because the usual one is close to the number of clients.
fn raise_descriptors() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(16_384), hard).unwrap();
}
