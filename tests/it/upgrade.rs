//! Another daemon takes over without a gap: sessions are handed over warm, runs end in the old daemon, no call fails.

mod failures;
mod load;
mod rules;
mod runs;
mod sessions;
mod skew;

use std::time::Duration;

use mux_tests::{TestEnv, process};

/// How long to wait for an exit that should happen immediately but has no guaranteed time.
const SOON: Duration = Duration::from_secs(20);

/// Runs `mux restart --upgrade`, which must succeed. Returns the pids of the old daemon and of the new one.
#[track_caller]
fn upgrade(env: &TestEnv) -> (i32, i32) {
    let old = env.daemon().unwrap();
    let output = env.mux(["--json", "restart", "--upgrade"]).ok().json();
    let new = env.daemon().unwrap();
    assert_eq!(output["before"], old);
    assert_eq!(output["pid"], new);
    assert_ne!(old, new);
    (old, new)
}

/// The next value of a counter that lives in the server's process.
#[track_caller]
fn count(env: &TestEnv, server: &str) -> i64 {
    let path = format!("{server}.counter");
    let output = env.mux(["--json", "call", &path, "key=k"]).ok().json();
    output["result"].as_str().unwrap().parse().unwrap()
}

#[track_caller]
fn assert_ends(pid: i32) {
    assert!(process::wait_for_end(pid, SOON), "{pid} still runs");
}
