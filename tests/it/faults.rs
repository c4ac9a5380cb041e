//! Everything that can go wrong on the far side of the daemon: servers, their output, workers.
//!
//! Invariant of all of it: the call or the run that met the fault gets one error that says what is
//! known, nothing is sent twice, and everybody else goes on.

mod output;
mod runs;
mod starts;
mod workers;

mod calls;

use std::{fs, time::Duration};

use mux_tests::{TestEnv, process};
use serde_json::Value;

/// What is promised within 2 s is waited for this long: the machine may be busy.
const PROMISE: Duration = Duration::from_secs(5);

/// How often a tool was called, by the server's own log of calls.
fn calls_of(log: &std::path::Path, tool: &str) -> usize {
    let log = fs::read_to_string(log).unwrap_or_default();
    let calls = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    calls.filter(|call| call["tool"] == tool).count()
}

/// What `status` says of one server.
fn server(env: &TestEnv, name: &str) -> Value {
    let mut status = env.mux(["--json", "status"]).ok().json();
    let servers = status["servers"].as_array_mut().unwrap();
    let found = servers.iter_mut().find(|server| server["name"] == name);
    found.unwrap().take()
}

/// Does something that must not make the daemon grow by more than this.
fn without_growth_over(env: &TestEnv, most: u64, act: impl FnOnce()) {
    let daemon = env.daemon().unwrap();
    let before = process::resident_bytes(daemon);
    act();
    assert_eq!(env.daemon(), Some(daemon), "another daemon");
    let grown = process::resident_bytes(daemon).saturating_sub(before);
    assert!(grown < most, "the daemon grew by {} MiB", grown >> 20);
}
