//! Tools of servers that an agent calls directly: in addition to programs, or instead of them.

use mux_tests::{Agent, TestEnv};
use serde_json::json;

use super::text;

#[test]
fn direct_tool_is_listed_with_the_definition_of_its_server() {
    let env = TestEnv::new();
    let fixture = env.fixture("my-fix", &[]);
    env.write_config(&format!(
        "{fixture}tools = {{ direct = [\"add\", \"ima*\"] }}\n"
    ));
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let tools = agent.tools();
    assert_eq!(tools[7..], ["my-fix__add", "my-fix__image"], "{tools:?}");
    let listed = agent.ask("tools/list", json!({}));
    let add = &listed["tools"][7];
    assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(add["outputSchema"]["properties"]["sum"]["type"], "number");
    assert_eq!(add["annotations"]["readOnlyHint"], true);
    let sum = agent.call("my-fix__add", json!({ "a": 1, "b": 2 }));
    assert_eq!(sum["structuredContent"], json!({ "sum": 3 }));
    let wrong = agent.call("my-fix__add", json!({ "a": 1 }));
    assert_eq!(wrong["isError"], true);
    assert!(text(&wrong).starts_with("validation"), "{wrong}");
    let error = agent.refused("tools/call", json!({ "name": "my-fix__nope" }));
    assert!(
        error["message"].as_str().unwrap().contains("my-fix__add"),
        "{error}"
    );
}

#[test]
fn passthrough_offers_all_tools_and_no_run_tool() {
    let env = TestEnv::with_fixtures(&[("a", &[]), ("b", &["--name", "other"])]);
    for mut agent in [
        Agent::legacy(&env, &["--passthrough"], json!({})),
        Agent::modern(&env, &["--passthrough"], json!({})),
    ] {
        let tools = agent.tools();
        for name in ["a__echo", "b__echo", "a__get-thing"] {
            assert!(tools.iter().any(|tool| tool == name), "{name}: {tools:?}");
        }
        assert!(!tools.iter().any(|tool| tool == "run"));
        let said = agent.call("b__echo", json!({ "text": "hello" }));
        assert_eq!(said["content"][0]["text"], "hello");
        let failed = agent.call("a__fail", json!({ "message": "no" }));
        assert_eq!(
            (&failed["isError"], text(&failed).as_str()),
            (&json!(true), "no")
        );
    }
    // One process for both agents.
    assert_eq!(env.starts("a").len(), 1);
}

#[test]
fn passthrough_of_one_server_keeps_its_names_errors_and_long_results() {
    let env = TestEnv::with_fixtures(&[("a", &[]), ("b", &[])]);
    let mut agent = Agent::legacy(&env, &["--passthrough=a"], json!({}));
    let tools = agent.tools();
    assert!(
        tools.iter().any(|tool| tool == "echo") && !tools.iter().any(|tool| tool.contains("__"))
    );
    let said = agent.call("echo", json!({ "text": "hello" }));
    assert_eq!(said["content"][0]["text"], "hello");
    let refused = json!({ "code": -32050, "message": "not today" });
    let error = agent.refused(
        "tools/call",
        json!({ "name": "refuse", "arguments": refused }),
    );
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32050), &json!("not today"))
    );
    let long = agent.call("blob", json!({ "bytes": 400_000 }));
    assert!(text(&long).lines().any(|line| line.len() == 400_000));
    let unknown = agent.call("nope", json!({}));
    assert!(text(&unknown).starts_with("not_found"), "{unknown}");
}

#[test]
fn policy_applies_to_every_way_of_calling_a_tool() {
    let env = TestEnv::new();
    let fixture = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fixture}tools = {{ direct = [\"echo\"] }}\n[[policy]]\nmatch = \"fix.echo\"\naction = \"deny\"\n"
    ));
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let mut through = Agent::legacy(&env, &["--passthrough=fix"], json!({}));
    for result in [
        agent.call("fix__echo", json!({ "text": "x" })),
        agent.call(
            "call",
            json!({ "path": "fix.echo", "arguments": { "text": "x" } }),
        ),
        agent.call(
            "run",
            json!({ "code": "await mux.fix.echo({ text: 'x' })" }),
        ),
        agent.call(
            "run",
            json!({ "code": "await mux.call('fix.echo', { text: 'x' })" }),
        ),
        through.call("echo", json!({ "text": "x" })),
    ] {
        assert!(text(&result).starts_with("denied: fix.echo"), "{result}");
    }
}
