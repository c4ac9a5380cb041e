//! How long `mux mcp` lives, what it survives, and what it must not do.

use mux_tests::{Agent, TestEnv, process};
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn an_agent_outlives_its_daemon() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut agent = Agent::legacy(&env, &[], json!({}));
    assert_eq!(agent.run("return 1"), 1);
    let daemon = env.daemon().unwrap();
    process::send(daemon, Signal::SIGKILL);
    assert!(process::wait_for_end(
        daemon,
        std::time::Duration::from_secs(20)
    ));
    assert_eq!(
        agent.run("return (await mux.fix.add({ a: 1, b: 1 })).sum"),
        2
    );
    assert_ne!(env.daemon(), Some(daemon));
    env.mux(["restart"]).ok();
    assert_eq!(agent.run("return 3"), 3);
}

#[test]
fn a_daemon_that_was_stopped_stays_so_until_the_agent_asks() {
    let env = TestEnv::new();
    let mut agent = Agent::legacy(&env, &[], json!({}));
    assert_eq!(agent.run("return 1"), 1);
    env.stop();
    // The protocol's own requests need no daemon.
    agent.ask("ping", json!({}));
    assert_eq!(env.daemon(), None);
    assert_eq!(agent.run("return 2"), 2);
    assert!(env.daemon().is_some());
}

#[test]
fn the_end_of_its_input_ends_it_and_its_run() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let path = log.path().to_str().unwrap();
    let env = TestEnv::with_fixtures(&[("fix", &["--call-log", path]), ("probe", &[])]);
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let arguments = json!({ "code": "await mux.fix.hang({})", "timeout_seconds": 300 });
    agent.begin(
        "tools/call",
        json!({ "name": "run", "arguments": arguments }),
    );
    env.until_called(log.path(), "hang", 1, "probe.pid");
    assert_eq!(agent.close(), 0);
    let ended = loop {
        let runs = env.mux(["--json", "runs"]).ok().json();
        if runs["runs"][0]["state"] == "failed" {
            break runs["runs"][0]["error"]["kind"].clone();
        }
    };
    assert_eq!(ended, "cancelled");
}

#[test]
fn an_agent_that_leaves_without_a_word_is_no_failure() {
    let env = TestEnv::new();
    assert_eq!(Agent::start(env.command("mux").arg("mcp")).close(), 0);
    assert_eq!(env.daemon(), None);
}

#[test]
fn rubbish_is_answered_or_ignored_and_ends_nothing() {
    let env = TestEnv::new();
    let mut agent = Agent::legacy(&env, &[], json!({}));
    for line in [
        "",
        "not json",
        "{\"jsonrpc\":\"2.0\"}",
        "[1]",
        "{\"id\":7}",
        "\u{0}",
    ] {
        agent.say(line);
    }
    agent.say(&format!("{{\"x\":\"{}\"}}", "y".repeat(17 << 20)));
    assert_eq!(agent.run("return 'still here'"), "still here");
    let error = agent.refused("nothing/like/this", json!({}));
    assert_eq!(error["code"], -32601);
    assert_eq!(agent.close(), 0);
}

#[test]
fn an_agent_is_told_when_the_pool_changes_and_not_otherwise() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let before = agent.ask("tools/list", json!({}));
    let config = format!("{}{}", env.fixture("fix", &[]), env.fixture("more", &[]));
    env.write_config(&config);
    env.mux(["reload"]).ok();
    env.mux(["call", "more.pid"]).ok();
    agent.hear("notifications/tools/list_changed");
    loop {
        let after = agent.ask("tools/list", json!({}));
        let description = after["tools"][0]["description"].as_str().unwrap();
        if description.contains("more.pid") {
            assert_ne!(after, before);
            break;
        }
        agent.hear("notifications/tools/list_changed");
    }
}

#[test]
fn the_client_that_the_daemon_knows_is_the_agent() {
    let env = TestEnv::new();
    let mut agent = Agent::legacy(
        &env,
        &["--agent", "small", "--workspace", "/srv"],
        json!({}),
    );
    agent.run("return 1");
    let runs = env.mux(["--json", "runs"]).ok().json();
    let run = &runs["runs"][0];
    assert_eq!(run["client"], "test-agent");
    assert_eq!(
        (&run["agent"], &run["workspace"]),
        (&json!("small"), &json!("/srv"))
    );
}

#[test]
fn the_roots_of_an_agent_say_where_it_works() {
    let env = TestEnv::new();
    let mut agent = Agent::legacy(&env, &[], json!({ "roots": {} }));
    let asked = agent.hear("roots/list");
    agent.reply(&asked, json!({ "roots": [{ "uri": "file:///srv/a%20b" }] }));
    agent.ask("ping", json!({}));
    let mut workspace = json!(null);
    // The answer is worked on beside the next requests.
    while workspace != "/srv/a b" {
        agent.run("return 1");
        let runs = env.mux(["--json", "runs"]).ok().json();
        workspace = runs["runs"][0]["workspace"].clone();
    }
}
