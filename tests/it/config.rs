//! Bad input: every mistake gets an error that says what to do, and nothing else suffers from it.

mod file;
mod home;
mod policy;
mod programs;
mod servers;
mod slow;

use mux_tests::{TestEnv, env::binary};
use serde_json::Value;

/// A line `command = …` for the fixture server, to be put under some header.
fn command() -> String {
    format!("command = {:?}\n", binary("mux-fixture-server"))
}

/// What is wrong, as `mux status` has it.
fn problems(env: &TestEnv) -> Vec<String> {
    // The first command waits until the configuration was read.
    env.mux(["servers"]).ok();
    let status = env.mux(["status", "--json"]).ok().json();
    let problems = status["problems"].as_array().unwrap();
    problems
        .iter()
        .map(|p| p.as_str().unwrap().to_owned())
        .collect()
}

/// What `mux servers` knows of one of them.
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
