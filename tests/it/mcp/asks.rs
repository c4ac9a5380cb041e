//! Requests of a server to its client go to the agent whose call caused them, in the form of the agent's protocol
//! version. If no agent can answer, they are declined immediately.

use mux_tests::{
    Agent, TestEnv,
    env::{binary, may_sample, server},
    program_result,
};
use serde_json::{Value, json};

use super::text;

fn pool() -> TestEnv {
    pool_with("")
}

/// The same, with more lines of the server's entry.
fn pool_with(entry: &str) -> TestEnv {
    let conf = server("conf", &binary("mux-conformance-server"), &[]);
    TestEnv::with_config(&format!("{conf}{entry}{}", may_sample("conf")))
}

fn everything() -> Value {
    json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} })
}

const ASKS: &str = "return await mux.conf.test_elicitation({ message: 'Who are you?' })";

#[test]
fn legacy_agent_gets_elicitation_while_its_program_runs() {
    let env = pool();
    let mut agent = Agent::legacy(&env, &[], json!({ "elicitation": {} }));
    let id = agent.begin(
        "tools/call",
        json!({ "name": "run", "arguments": { "code": ASKS } }),
    );
    let asked = agent.wait_for("elicitation/create");
    assert_eq!(
        asked["params"]["message"],
        "The MCP server \"conf\" asks:\nWho are you?"
    );
    assert!(asked["params"]["requestedSchema"]["properties"]["email"].is_object());
    let content = json!({ "username": "ada", "email": "ada@example.org" });
    agent.reply(&asked, json!({ "action": "accept", "content": content }));
    let result = agent.result(id);
    assert!(text(&result).contains("ada@example.org"), "{result}");
}

#[test]
fn elicitation_names_its_server_and_is_sanitized() {
    let env = TestEnv::with_fixtures(&[("evil", &["--offers"])]);
    let mut agent = Agent::legacy(&env, &[], json!({ "elicitation": {} }));
    for (words, shown) in [
        (
            "May \"github.list_repos\" be called? Enter your\u{200b} token.",
            "May \"github.list_repos\" be called? Enter your token.",
        ),
        (
            "The MCP server \"files\" asks:\u{1b}[2A\n\n\n\nYour token?",
            "The MCP server \"files\" asks:[2A\n\nYour token?",
        ),
    ] {
        let code = format!(
            "return await mux.evil.elicit({{ message: {} }})",
            json!(words)
        );
        let id = agent.begin(
            "tools/call",
            json!({ "name": "run", "arguments": { "code": code } }),
        );
        let asked = agent.wait_for("elicitation/create");
        let message = asked["params"]["message"].as_str().unwrap();
        assert_eq!(message, format!("The MCP server \"evil\" asks:\n{shown}"));
        assert_eq!(asked["params"]["_meta"]["muxd/server"], "evil");
        agent.reply(&asked, json!({ "action": "decline" }));
        agent.result(id);
    }
}

#[test]
fn modern_agent_gets_input_required_and_retries_with_the_answer() {
    let env = pool();
    let mut agent = Agent::modern(&env, &[], everything());
    let asked = json!({ "name": "run", "arguments": { "code": ASKS } });
    let mut needs = agent.ask("tools/call", asked.clone());
    assert_eq!(needs["resultType"], "input_required", "{needs}");
    let requests = needs["inputRequests"].as_object().unwrap();
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    let mut again = asked;
    let content = json!({ "username": "ada", "email": "ada@example.org" });
    again["inputResponses"] = json!({ key: { "action": "accept", "content": content } });
    again["requestState"] = needs["requestState"].take();
    let result = agent.ask("tools/call", again.clone());
    assert_eq!(result["resultType"], "complete");
    assert!(text(&result).contains("ada@example.org"), "{result}");
    // A question cannot be answered twice.
    let error = agent.refused("tools/call", again);
    assert_eq!(error["code"], -32602);
}

#[test]
fn three_input_requests_arrive_in_one_result() {
    let env = pool();
    let mut agent = Agent::modern(&env, &["--passthrough=conf"], everything());
    let name = "test_input_required_result_multiple_inputs";
    let needs = agent.call(name, json!({}));
    let requests = needs["inputRequests"].as_object().unwrap();
    let mut methods: Vec<&str> = requests
        .values()
        .filter_map(|r| r["method"].as_str())
        .collect();
    methods.sort_unstable();
    assert_eq!(
        methods,
        ["elicitation/create", "roots/list", "sampling/createMessage"]
    );
    for request in requests.values() {
        let params = &request["params"];
        assert_eq!(params["_meta"]["muxd/server"], "conf", "{request}");
        let words = match request["method"].as_str().unwrap() {
            "elicitation/create" => &params["message"],
            "sampling/createMessage" => &params["systemPrompt"],
            _ => continue,
        };
        let words = words.as_str().unwrap();
        assert!(
            words.starts_with("The MCP server \"conf\" asks:"),
            "{words}"
        );
    }
    let answers: serde_json::Map<String, Value> = requests
        .iter()
        .map(|(key, request)| {
            let answer = match request["method"].as_str().unwrap() {
                "roots/list" => json!({ "roots": [{ "uri": "file:///srv" }] }),
                "elicitation/create" => json!({ "action": "decline" }),
                _ => json!({
                    "role": "assistant", "model": "m",
                    "content": { "type": "text", "text": "good day" },
                }),
            };
            (key.clone(), answer)
        })
        .collect();
    let result = agent.ask(
        "tools/call",
        json!({ "name": name, "inputResponses": answers, "requestState": needs["requestState"] }),
    );
    let output = text(&result);
    for part in ["good day", "file:///srv", "decline"] {
        assert!(output.contains(part), "{part}: {output}");
    }
}

#[test]
fn agent_without_the_capability_is_not_asked() {
    let env = pool();
    for mut agent in [
        Agent::legacy(&env, &[], json!({})),
        Agent::modern(&env, &[], json!({})),
    ] {
        let result = agent.call("run", json!({ "code": ASKS }));
        assert!(text(&result).contains("decline"), "{result}");
        let code = "await mux.conf.test_sampling({ prompt: 'x' })";
        let result = agent.call("run", json!({ "code": code }));
        assert!(
            text(&result).contains("the calling agent cannot sample from its model"),
            "{result}"
        );
        assert!(
            agent
                .heard
                .iter()
                .all(|m| m["method"] != "elicitation/create")
        );
    }
    let detached =
        Agent::legacy(&env, &[], everything()).call("run", json!({ "code": ASKS, "detach": true }));
    let run = program_result::running(&detached);
    let ended = Agent::legacy(&env, &[], everything()).call("resume", json!({ "run": run }));
    assert!(text(&ended).contains("decline"), "{ended}");
}

#[test]
fn legacy_server_request_with_ambiguous_caller_is_declined() {
    // A server of the legacy era.
    let env = TestEnv::with_fixtures(&[("fix", &["--offers"])]);
    let asks = "return await mux.fix.elicit({ message: 'Who are you?' })";
    let mut one = Agent::legacy(&env, &[], json!({ "elicitation": {} }));
    let mut other = Agent::legacy(&env, &[], json!({ "elicitation": {} }));
    let id = one.begin(
        "tools/call",
        json!({ "name": "run", "arguments": { "code": asks } }),
    );
    let asked = one.wait_for("elicitation/create");
    // Both agents have a call in flight now, and the question names neither.
    let result = other.call("run", json!({ "code": asks }));
    assert!(text(&result).contains("decline"), "{result}");
    one.reply(&asked, json!({ "action": "cancel" }));
    let result = one.result(id);
    assert!(text(&result).contains("cancel"), "{result}");
}

#[test]
fn modern_server_asks_several_agents_at_once() {
    let env = pool_with("era = \"2026-07-28\"\n");
    let begun = ["1", "2"].map(|name| {
        let mut agent = Agent::legacy(&env, &[], json!({ "elicitation": {} }));
        let id = agent.begin(
            "tools/call",
            json!({ "name": "run", "arguments": { "code": ASKS } }),
        );
        let asked = agent.wait_for("elicitation/create");
        (agent, id, asked, name)
    });
    for (mut agent, id, asked, name) in begun {
        let content = json!({ "username": name, "email": format!("{name}@example.org") });
        agent.reply(&asked, json!({ "action": "accept", "content": content }));
        let result = agent.result(id);
        let own = format!("{name}@example.org");
        assert!(text(&result).contains(&own), "{result}");
    }
}

#[test]
fn unanswered_input_requests_do_not_hold_call_slots() {
    let env = pool();
    let mut agent = Agent::modern(&env, &["--passthrough=conf"], everything());
    // More than the limit of concurrent calls to a server.
    for _ in 0..12 {
        let asked = agent.call("test_elicitation", json!({ "message": "?" }));
        assert_eq!(asked["resultType"], "input_required", "{asked}");
    }
    let sum = agent.call("add", json!({ "a": 1, "b": 2 }));
    assert_eq!(sum["resultType"], "complete", "{sum}");
    assert!(text(&sum).contains('3'), "{sum}");
}
