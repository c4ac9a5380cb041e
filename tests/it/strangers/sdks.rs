//! One scenario, run with every SDK in every protocol era that it supports: see `tests/clients/story.mjs`.

use std::process::Command;

use mux_tests::{TestEnv, env::output};
use serde_json::{Value, json};

use super::home::{home, launch, node_program, program, spoken};

#[test]
fn typescript_sdk_1_in_the_old_era() {
    let env = home();
    let story = node_program(&env, &program(&env, "sdk-v1.mjs"));
    is_as_it_should_be(&env, story, "legacy");
}

#[test]
fn typescript_sdk_2_in_the_old_era() {
    let env = home();
    let story = node_program(&env, &program(&env, "sdk-v2.mjs"));
    is_as_it_should_be(&env, story, "legacy");
}

#[test]
fn typescript_sdk_2_in_the_new_era() {
    let env = home();
    let story = node_program(&env, &program(&env, "sdk-v2.mjs"));
    is_as_it_should_be(&env, story, "modern");
}

#[test]
fn python_sdk_in_the_old_era() {
    let env = home();
    let story = python(&env);
    is_as_it_should_be(&env, story, "legacy");
}

#[test]
fn python_sdk_in_the_new_era() {
    let env = home();
    let story = python(&env);
    is_as_it_should_be(&env, story, "modern");
}

fn python(env: &TestEnv) -> Command {
    let mut command = Command::new(mux_tests::env::pypi("python"));
    command
        .arg(program(env, "story.py"))
        .current_dir(env.home());
    command
}

#[track_caller]
fn is_as_it_should_be(env: &TestEnv, mut story: Command, era: &str) {
    let shown = output(story.arg(launch(env, era).to_string())).ok();
    let last = shown.stdout.lines().last().unwrap_or_default();
    let seen: Value = serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {shown:#?}"));
    let version = match era {
        "modern" => "2026-07-28",
        _ => "2025-11-25",
    };
    assert_eq!(seen["version"], version);

    let tools = seen["tools"].as_array().unwrap();
    for tool in [
        "run",
        "search",
        "describe",
        "call",
        "read",
        "resume",
        "run_program",
    ] {
        assert!(tools.contains(&json!(tool)), "no {tool}: {seen:#}");
    }

    assert_eq!(seen["result"]["state"], "succeeded", "{seen:#}");
    assert_eq!(seen["result"]["result"], json!({ "total": 42 }));
    assert_eq!(seen["result"]["console"], json!(["halfway"]));
    assert_eq!(seen["result"]["calls"], 3);
    let progress = seen["progress"].as_array().unwrap();
    for part in ["conf.add", "halfway"] {
        let tells = |line: &Value| line.as_str().is_some_and(|line| line.starts_with(part));
        assert!(progress.iter().any(tells), "no {part}: {seen:#}");
    }

    assert_eq!(seen["images"], json!(["image/png"]));
    assert_eq!(
        seen["questions"],
        json!(["The MCP server \"conf\" asks:\nWho are you?"]),
        "{seen:#}"
    );
    let answered = seen["answered"].as_str().unwrap();
    for part in [r#""action":"accept""#, r#""username":"ada""#] {
        assert!(answered.contains(part), "{answered}");
    }

    assert_eq!(seen["failed"], json!({ "isError": true, "kind": "tool" }));
    assert_eq!(seen["unknown"], -32602);
    assert_eq!(seen["aborted"], true);
    assert_eq!(seen["cancelled"], true, "the server never heard: {seen:#}");
    assert_eq!(seen["changed"], true);
    let text = "This is the content of the static text resource.";
    assert_eq!(seen["resource"], text, "{seen:#}");
    assert_eq!(seen["prompt"], "This is a simple prompt for testing.");
    assert_eq!(seen["errors"], json!([]));
    only_the_protocol(env);
}

/// Asserts that every line of standard output is a message, even while a program prints.
#[track_caller]
fn only_the_protocol(env: &TestEnv) {
    let output = std::fs::read_to_string(spoken(env)).unwrap();
    assert!(output.lines().count() > 10, "{output}");
    for line in output.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
}
