//! `_meta` and arguments of an agent's requests, as servers get them.

use std::fs;

use mux_tests::{Agent, TestEnv};
use serde_json::{Value, json};

use super::text;

/// The `_meta` that an agent may send, and the part that no server may get from it.
fn meta() -> Value {
    json!({
        "com.example/tenant": { "id": 7 },
        "progressToken": "agents-own",
        "muxd/server": "github",
        "muxd/untrusted": [],
        "io.modelcontextprotocol/related-task": { "taskId": "agents-own" },
    })
}

#[track_caller]
fn check(got: &Value, of: &str) {
    assert_eq!(got["com.example/tenant"], json!({ "id": 7 }), "{of}: {got}");
    let whole = got.to_string();
    for own in ["agents-own", "muxd/"] {
        assert!(!whole.contains(own), "{of}: {got}");
    }
}

/// The `_meta` of the tool calls that `fix` has received.
fn meta_of_calls(log: &std::path::Path) -> Vec<Value> {
    let lines = fs::read_to_string(log).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let calls = lines.filter(|line: &Value| line["tool"].is_string());
    calls.map(|line| line["meta"].clone()).collect()
}

#[test]
fn meta_of_a_request_reaches_the_server_with_that_request_only() {
    let env = TestEnv::new();
    let log = env.path("calls");
    let args = ["--offers", "--call-log", log.to_str().unwrap()];
    env.write_config(&env.fixture("fix", &args));
    let mut through = Agent::legacy(&env, &["--passthrough=fix"], json!({}));
    let mut plain = Agent::legacy(&env, &[], json!({}));
    let echo = json!({ "text": "a" });
    through.ask(
        "tools/call",
        json!({ "name": "echo", "arguments": echo, "_meta": meta() }),
    );
    let call = json!({ "path": "fix.echo", "arguments": echo });
    plain.ask(
        "tools/call",
        json!({ "name": "call", "arguments": call, "_meta": meta() }),
    );
    let sent = meta_of_calls(&log);
    assert_eq!(sent.len(), 2);
    for sent in &sent {
        check(sent, "tools/call");
    }

    // A call of another client in the same session, and a program's call, do not have it.
    plain.call("call", json!({ "path": "fix.echo", "arguments": echo }));
    let code = "await mux.fix.echo({ text: 'a' })";
    plain.ask(
        "tools/call",
        json!({ "name": "run", "arguments": { "code": code }, "_meta": meta() }),
    );
    let sent = meta_of_calls(&log);
    assert_eq!(sent.len(), 4);
    for other in &sent[2..] {
        assert!(!other.to_string().contains("com.example"), "{other}");
    }
}

#[test]
fn resources_prompts_and_completions_have_their_meta_and_arguments() {
    let env = TestEnv::with_fixtures(&[("fix", &["--offers"])]);
    for (options, prefix, prompt) in [
        (&["--passthrough=fix"][..], "", "params"),
        (&[][..], "mux://fix/", ""),
    ] {
        let mut agent = Agent::legacy(&env, options, json!({}));
        let uri = format!("{prefix}fix://params");
        let read = agent.ask("resources/read", json!({ "uri": uri, "_meta": meta() }));
        let params = parsed(&read["contents"][0]["text"]);
        check(&params["_meta"], "resources/read");
        let reference = json!({ "type": "ref/resource", "uri": uri });
        let argument = json!({ "name": "params", "value": "" });
        let completed = agent.ask(
            "completion/complete",
            json!({ "ref": reference, "argument": argument, "_meta": meta() }),
        );
        check(
            &parsed(&completed["completion"]["values"][0])["_meta"],
            "completion/complete",
        );
        if prompt.is_empty() {
            continue;
        }
        for arguments in [json!({}), json!({ "a": "b" })] {
            let asked = json!({ "name": prompt, "arguments": arguments, "_meta": meta() });
            let got = agent.ask("prompts/get", asked);
            let params = parsed(&got["messages"][0]["content"]["text"]);
            check(&params["_meta"], "prompts/get");
            assert_eq!(params["arguments"], arguments);
        }
    }
    let code = "return (await mux.prompts.fix.get('params', {})).messages[0].content.text";
    let params = parsed(&env.result(code));
    assert_eq!(params["arguments"], json!({}), "{params}");
}

#[test]
fn meta_that_is_too_long_is_an_error_that_says_so() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut agent = Agent::legacy(&env, &["--passthrough=fix"], json!({}));
    let long = json!({ "a": "x".repeat(65 << 10) });
    let asked = json!({ "name": "echo", "arguments": { "text": "a" }, "_meta": long });
    let result = agent.ask("tools/call", asked);
    assert!(
        text(&result).contains("longer than 65536 bytes"),
        "{result}"
    );
}

fn parsed(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}
