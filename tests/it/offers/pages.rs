//! Questions of servers that ask the user to open a page, as an agent gets them.

use mux_tests::{Agent, TestEnv};
use serde_json::{Value, json};

fn agent(env: &TestEnv) -> Agent {
    Agent::legacy(
        env,
        &[],
        json!({ "elicitation": { "form": {}, "url": {} } }),
    )
}

fn asks(url: &str) -> Value {
    json!({ "path": "fix.elicit", "args": { "message": "log in", "url": url } })
}

#[test]
fn agent_is_asked_to_open_pages_of_the_web_only() {
    let env = TestEnv::with_fixtures(&[("fix", &["--offers"])]);
    let mut agent = agent(&env);
    for (url, why) in [
        ("javascript:alert(1)", "`javascript:`"),
        ("file:///etc/passwd", "`file:`"),
        ("data:text/html,x", "`data:`"),
        ("vscode://x", "`vscode:`"),
        (
            "https://github.com@evil.example/login",
            "a user name before the host",
        ),
        ("evil.example", "no valid address"),
    ] {
        let answer = agent.call("call", asks(url));
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("decline") && text.contains(why),
            "{url}: {text}"
        );
    }
    let asked = |message: &Value| message["method"] == "elicitation/create";
    assert!(!agent.heard.iter().any(asked), "{:?}", agent.heard);
}

#[test]
fn line_of_muxd_names_the_origin_and_no_content_reaches_the_server() {
    let env = TestEnv::with_fixtures(&[("fix", &["--offers"])]);
    let mut agent = agent(&env);
    let url = "https://evil.example/github.com/login";
    let call = json!({ "name": "call", "arguments": asks(url) });
    let id = agent.begin("tools/call", call);
    let question = agent.wait_for("elicitation/create");
    assert_eq!(question["params"]["url"], url);
    let message = question["params"]["message"].as_str().unwrap();
    let line = "The MCP server \"fix\" asks you to open https://evil.example:\n";
    assert!(message.starts_with(line), "{message}");
    let entered = json!({ "password": "hunter2" });
    agent.reply(&question, json!({ "action": "accept", "content": entered }));
    let answer = agent.result(id).to_string();
    assert!(
        answer.contains("accept") && !answer.contains("hunter2"),
        "{answer}"
    );
}
