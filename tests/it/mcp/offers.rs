//! Resources, prompts and log messages of servers, as agents get them.

use mux_tests::{Agent, TestEnv};
use serde_json::json;

use super::text;

fn pool() -> TestEnv {
    TestEnv::with_fixtures(&[("fix", &["--offers"]), ("more", &["--offers"])])
}

#[test]
fn resources_and_prompts_are_named_after_their_servers() {
    let env = pool();
    for mut agent in [
        Agent::legacy(&env, &[], json!({})),
        Agent::modern(&env, &[], json!({})),
    ] {
        let listed = agent.ask("resources/list", json!({}));
        let resources = listed["resources"].as_array().unwrap();
        assert_eq!(resources[0]["uri"], "mux://guide");
        for uri in ["mux://fix/fix://json", "mux://more/fix://json"] {
            assert!(resources.iter().any(|r| r["uri"] == uri), "{uri}: {listed}");
        }
        let read = agent.ask("resources/read", json!({ "uri": "mux://fix/fix://json" }));
        assert_eq!(read["contents"][0]["uri"], "mux://fix/fix://json");
        assert_eq!(read["contents"][0]["text"], "{\"a\":[1,2]}");
        let big = agent.ask("resources/read", json!({ "uri": "mux://fix/fix://big" }));
        assert_eq!(big["contents"][0]["text"].as_str().unwrap().len(), 400_000);
        let templates = agent.ask("resources/templates/list", json!({}));
        let template = &templates["resourceTemplates"][0]["uriTemplate"];
        assert_eq!(template, "mux://fix/fix://text/{name}");
        let arguments = json!({ "name": "Ada" });
        let asked = json!({ "name": "more__greet", "arguments": arguments });
        let prompt = agent.ask("prompts/get", asked);
        assert_eq!(prompt["messages"][0]["content"]["text"], "Hello, Ada!");
        let completed = agent.ask(
            "completion/complete",
            json!({
                "ref": { "type": "ref/prompt", "name": "more__greet" },
                "argument": { "name": "name", "value": "al" },
            }),
        );
        assert_eq!(completed["completion"]["values"], json!(["alan"]));
        let gone = agent.refused(
            "resources/read",
            json!({ "uri": "mux://fix/fix://nothing" }),
        );
        assert!(
            [-32002, -32602].contains(&gone["code"].as_i64().unwrap()),
            "{gone}"
        );
    }
}

#[test]
fn resource_subscription_survives_a_restart_and_can_be_ended() {
    let env = pool();
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let uri = "mux://fix/fix://text";
    agent.ask("resources/subscribe", json!({ "uri": uri }));
    let touch = |uri: &str| json!({ "path": "fix.touch", "arguments": { "uri": uri } });
    agent.call("call", touch("fix://text"));
    let output = agent.wait_for("notifications/resources/updated");
    assert_eq!(output["params"]["uri"], uri);
    env.mux(["restart"]).ok();
    agent.run("return 1");
    // The subscription is renewed on the new connection, concurrently with these calls.
    for _ in 0..1000 {
        agent.call("call", touch("fix://text"));
        if agent
            .heard
            .iter()
            .any(|m| m["method"] == "notifications/resources/updated")
        {
            break;
        }
    }
    agent.wait_for("notifications/resources/updated");
    agent.ask("resources/unsubscribe", json!({ "uri": uri }));
    agent.heard.clear();
    agent.call("call", touch("fix://text"));
    let updates = agent
        .heard
        .iter()
        .filter(|m| m["method"] == "notifications/resources/updated");
    assert_eq!(updates.count(), 0);
}

#[test]
fn modern_subscriptions_to_one_resource_end_independently() {
    let env = pool();
    let mut agent = Agent::modern(&env, &[], json!({}));
    let uri = "mux://fix/fix://text/hello";
    let wanted = json!({ "notifications": { "resourceSubscriptions": [uri] } });
    let first = agent.begin("subscriptions/listen", wanted.clone());
    agent.wait_for("notifications/subscriptions/acknowledged");
    agent.begin("subscriptions/listen", wanted);
    agent.wait_for("notifications/subscriptions/acknowledged");
    let touch = json!({ "path": "fix.touch", "arguments": { "uri": "fix://text/hello" } });
    let mut output = 0;
    // Both subscriptions are notified once the server knows both.
    while output < 2 {
        agent.heard.clear();
        agent.call("call", touch.clone());
        output = agent
            .heard
            .iter()
            .filter(|m| m["params"]["uri"] == uri)
            .count();
    }
    agent.notify("notifications/cancelled", json!({ "requestId": first }));
    while output != 1 {
        agent.heard.clear();
        agent.call("call", touch.clone());
        output = agent
            .heard
            .iter()
            .filter(|m| m["params"]["uri"] == uri)
            .count();
    }
}

#[test]
fn list_changed_is_sent_only_for_different_lists() {
    let env = pool();
    let mut agent = Agent::legacy(&env, &[], json!({}));
    agent.ask("resources/list", json!({}));
    agent.ask("prompts/list", json!({}));
    agent.tools();
    env.mux(["restart"]).ok();
    agent.run("return 1");
    // The lists of the new daemon are unchanged, so the first notification is that of a real change.
    agent.call(
        "call",
        json!({ "path": "fix.announce", "arguments": { "what": "prompts" } }),
    );
    agent.wait_for("notifications/prompts/list_changed");
    let heard: Vec<_> = agent.heard.iter().map(|m| m["method"].clone()).collect();
    assert!(
        !heard.contains(&json!("notifications/resources/list_changed")),
        "{heard:?}"
    );
    let listed = agent.ask("prompts/list", json!({}));
    assert!(listed.to_string().contains("fix__new-1"), "{listed}");
}

#[test]
fn agent_sets_the_level_of_server_log_messages() {
    let env = pool();
    let log = json!({ "path": "fix.log", "arguments": { "text": "careful" } });
    let mut agent = Agent::legacy(&env, &[], json!({}));
    agent.ask("logging/setLevel", json!({ "level": "error" }));
    agent.call("call", log.clone());
    assert!(
        agent
            .heard
            .iter()
            .all(|m| m["method"] != "notifications/message")
    );
    agent.ask("logging/setLevel", json!({ "level": "warning" }));
    agent.call("call", log.clone());
    let output = agent.wait_for("notifications/message");
    assert_eq!(output["params"]["level"], "warning");
    assert!(
        output["params"]["logger"]
            .as_str()
            .unwrap()
            .starts_with("fix"),
        "{output}"
    );

    let mut modern = Agent::modern(&env, &[], json!({}));
    modern.call("call", log.clone());
    assert!(
        modern
            .heard
            .iter()
            .all(|m| m["method"] != "notifications/message")
    );
    let meta = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    modern.ask(
        "tools/call",
        json!({ "name": "call", "arguments": log, "_meta": meta }),
    );
    modern.wait_for("notifications/message");
}

#[test]
fn call_with_nonpositive_timeout_is_rejected() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let path = log.path().to_str().unwrap();
    let env = TestEnv::with_fixtures(&[("fix", &["--call-log", path])]);
    let mut agent = Agent::legacy(&env, &[], json!({}));
    for seconds in [0.0, -1.0] {
        let arguments = json!({ "path": "fix.pid", "timeout_seconds": seconds });
        let result = agent.call("call", arguments);
        assert!(text(&result).starts_with("validation"), "{result}");
    }
    assert_eq!(std::fs::read_to_string(log.path()).unwrap(), "");
    let arguments = json!({ "path": "fix.pid", "timeout_seconds": 1e300 });
    assert_ne!(agent.call("call", arguments)["isError"], true);
}
