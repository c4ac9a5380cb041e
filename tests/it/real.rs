//! Programs and commands on real MCP servers, at the versions that `tests/servers` pins.
//!
//! Invariant: the programs are those of `tests/data/real`, written as a user would, and their results are compared
//! with values that the test knows independently of them.

mod commands;
mod everything;
mod files;
pub(crate) mod history;
mod memory;
mod remote;
mod types;

use std::path::Path;

use mux_tests::{
    Output, TestEnv,
    env::{npm, pypi, server},
};
use serde_json::Value;

/// Runs `tests/data/real/<program>.ts`, which must succeed. Returns the JSON output of `mux run`.
#[track_caller]
fn run(env: &TestEnv, program: &str, input: &Value) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/real/{program}.ts"));
    let file = file.to_str().unwrap();
    let input = input.to_string();
    env.mux(["--json", "run", file, "--input", &input])
        .ok()
        .json()
}

/// The entry of the filesystem server, which may access the folder `files` of the home.
pub(crate) fn files(env: &TestEnv) -> String {
    let folder = env.path("files");
    std::fs::create_dir_all(&folder).unwrap();
    server(
        "files",
        &npm("mcp-server-filesystem"),
        &[folder.to_str().unwrap()],
    )
}

pub(crate) fn memory(env: &TestEnv) -> String {
    let graph = env.path("graph.jsonl");
    let entry = server("memory", &npm("mcp-server-memory"), &[]);
    format!("{entry}env = {{ MEMORY_FILE_PATH = {graph:?} }}\n")
}

pub(crate) fn thinking() -> String {
    server("thinking", &npm("mcp-server-sequential-thinking"), &[])
}

pub(crate) fn everything() -> String {
    server("everything", &npm("mcp-server-everything"), &[])
}

pub(crate) fn git() -> String {
    server("git", &pypi("mcp-server-git"), &[])
}

pub(crate) fn time() -> String {
    server("time", &pypi("mcp-server-time"), &[])
}

/// The entry of `mux servers --json` for one server.
fn server_info(env: &TestEnv, name: &str) -> Value {
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

/// The lines that a program printed.
fn console(document: &Value) -> Vec<&str> {
    let lines = document["console"].as_array().unwrap();
    lines
        .iter()
        .filter_map(|line| line["text"].as_str())
        .collect()
}

/// Asserts that stdout contains all of these parts.
#[track_caller]
fn says(output: &Output, parts: &[&str]) {
    for part in parts {
        assert!(
            output.stdout.contains(part),
            "{part:?} is missing: {output:#?}"
        );
    }
}
