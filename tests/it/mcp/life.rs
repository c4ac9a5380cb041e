//! The lifetime of `mux mcp`, the events that it survives, and its reports about its agent.

use mux_tests::{Agent, TestEnv, process};
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn mcp_session_survives_kill_and_restart_of_the_daemon() {
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
fn stopped_daemon_is_started_again_only_by_a_tool_call() {
    let env = TestEnv::new();
    let mut agent = Agent::legacy(&env, &[], json!({}));
    assert_eq!(agent.run("return 1"), 1);
    env.stop();
    // Requests of the protocol itself need no daemon.
    agent.ask("ping", json!({}));
    assert_eq!(env.daemon(), None);
    assert_eq!(agent.run("return 2"), 2);
    assert!(env.daemon().is_some());
}

#[test]
fn end_of_input_ends_mcp_and_cancels_its_run() {
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
fn end_of_input_without_messages_exits_with_zero() {
    let env = TestEnv::new();
    assert_eq!(Agent::start(env.command("mux").arg("mcp")).close(), 0);
    assert_eq!(env.daemon(), None);
}

#[test]
fn malformed_messages_do_not_end_the_session() {
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
fn list_changed_is_sent_when_the_pool_changes() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let before = agent.ask("tools/list", json!({}));
    let config = format!("{}{}", env.fixture("fix", &[]), env.fixture("more", &[]));
    env.write_config(&config);
    env.mux(["reload"]).ok();
    env.mux(["call", "more.pid"]).ok();
    agent.wait_for("notifications/tools/list_changed");
    loop {
        let after = agent.ask("tools/list", json!({}));
        let description = after["tools"][0]["description"].as_str().unwrap();
        if description.contains("more (") {
            assert_ne!(after, before);
            break;
        }
        agent.wait_for("notifications/tools/list_changed");
    }
}

#[test]
fn runs_are_attributed_to_client_agent_and_workspace() {
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
fn workspace_is_taken_from_the_agents_roots() {
    let env = TestEnv::new();
    let mut agent = Agent::legacy(&env, &[], json!({ "roots": {} }));
    let asked = agent.wait_for("roots/list");
    agent.reply(&asked, json!({ "roots": [{ "uri": "file:///srv/a%20b" }] }));
    agent.ask("ping", json!({}));
    let mut workspace = json!(null);
    // The answer is processed concurrently with the next requests.
    while workspace != "/srv/a b" {
        agent.run("return 1");
        let runs = env.mux(["--json", "runs"]).ok().json();
        workspace = runs["runs"][0]["workspace"].clone();
    }
}
