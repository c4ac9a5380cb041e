//! Faults of servers, of their output, and of workers.
//!
//! Invariant: the affected call or run gets one error that says what is known, no request is sent twice, and
//! everything else continues.

mod output;
mod runs;
mod starts;
mod workers;

mod calls;

use std::{fs, time::Duration};

use mux_tests::{TestEnv, process};
use serde_json::Value;

/// How long to wait for events that are promised within 2 s, because the machine may be busy.
const PROMISE: Duration = Duration::from_secs(5);

/// How often a tool was called, from the server's call log.
fn calls_of(log: &std::path::Path, tool: &str) -> usize {
    let log = fs::read_to_string(log).unwrap_or_default();
    let calls = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    calls.filter(|call| call["tool"] == tool).count()
}

/// The entry of one server in `mux status`.
fn server(env: &TestEnv, name: &str) -> Value {
    let mut status = env.mux(["--json", "status"]).ok().json();
    let servers = status["servers"].as_array_mut().unwrap();
    let found = servers.iter_mut().find(|server| server["name"] == name);
    found.unwrap().take()
}

/// Runs `act`, which must not make the daemon grow by `most` bytes or more.
fn without_growth_over(env: &TestEnv, most: u64, act: impl FnOnce()) {
    let daemon = env.daemon().unwrap();
    let before = process::resident_bytes(daemon);
    act();
    assert_eq!(env.daemon(), Some(daemon), "another daemon");
    let grown = process::resident_bytes(daemon).saturating_sub(before);
    assert!(grown < most, "the daemon grew by {} MiB", grown >> 20);
}
