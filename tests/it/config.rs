//! Invalid configuration and input: every problem gets an error with a fix, and affects nothing else.

mod edited;
mod file;
mod home;
mod parallel;
mod paths;
mod policy;
mod programs;
mod projects;
mod servers;
mod set;
mod slow;
mod told;
mod watched;

use mux_tests::{TestEnv, env::binary};
use serde_json::Value;

/// A line `command = …` for the fixture server.
fn command() -> String {
    format!("command = {:?}\n", binary("mux-fixture-server"))
}

/// The problems in `mux status`.
pub(super) fn problems(env: &TestEnv) -> Vec<String> {
    // The first command waits until the configuration was read.
    env.mux(["servers"]).ok();
    let status = env.mux(["status", "--json"]).ok().json();
    let problems = status["problems"].as_array().unwrap();
    problems
        .iter()
        .map(|problem| problem["message"].as_str().unwrap().to_owned())
        .collect()
}

/// Repeats `look` until `is_so` is true for its result.
#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> T, is_so: impl Fn(&T) -> bool) -> T {
    for _ in 0..2000 {
        let found = look();
        if is_so(&found) {
            return found;
        }
    }
    panic!("it never was so: {what}");
}

/// The names of the servers in `mux servers`.
fn names(env: &TestEnv) -> Vec<String> {
    let servers = env.mux(["servers", "--json"]).ok().json();
    let names = servers.as_array().unwrap().iter();
    names
        .map(|server| server["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The entry of one server in `mux servers`.
fn server(env: &TestEnv, name: &str) -> Value {
    let servers = env.mux(["servers", "--json"]).ok().json();
    let found = servers
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {servers:#}"))
        .clone()
}
