//! Without a matching rule, a destructive tool needs approval if the user can be asked when the work begins. Neither
//! the program nor a client that resumes it can change that.

use mux_tests::Agent;
use serde_json::{Value, json};

use super::{
    Home,
    agents::{asks, decided, text},
};

const SOON: &str = "[approvals]\nwait = \"1s\"\n";

/// A program that writes a mark.
fn marking(home: &Home, line: &str) -> String {
    format!("{}return 'went on'", home.mark(line))
}

fn run(agent: &mut Agent, code: &str) -> (u64, Value) {
    let run = json!({ "name": "run", "arguments": { "code": code, "check": false } });
    let id = agent.begin("tools/call", run);
    (id, agent.wait_for("elicitation/create"))
}

#[test]
fn destructive_call_needs_approval_if_the_user_can_be_asked() {
    let home = Home::new();
    let mut agent = Agent::legacy(&home.env, &[], asks());
    let (id, form) = run(&mut agent, &marking(&home, "denied"));
    let message = form["params"]["message"].as_str().unwrap();
    assert!(
        message.contains("fix.side_effect") && message.contains("calls itself destructive"),
        "{message}"
    );
    agent.reply(&form, decided("deny"));
    let result = agent.result(id);
    assert!(text(&result).contains("denied by the user"), "{result}");
    assert!(home.marks().is_empty() && home.called("side_effect") == 0);
    let (id, form) = run(&mut agent, &marking(&home, "approved"));
    agent.reply(&form, decided("allow once"));
    assert_eq!(text(&agent.result(id)), "went on");
    // If no user can be asked the tool is called, as documented in docs/guides/policy.md.
    let mut mute = Agent::legacy(&home.env, &[], json!({}));
    let code = marking(&home, "mute");
    let result = mute.call("run", json!({ "code": code, "check": false }));
    assert_eq!(text(&result), "went on");
    assert_eq!(home.marks(), ["approved", "mute"]);
}

#[test]
fn destructive_call_of_detached_run_needs_approval() {
    let home = Home::new();
    let mut agent = Agent::legacy(&home.env, &[], asks());
    let code = marking(&home, "detached");
    let begun = agent.call(
        "run",
        json!({ "code": code, "check": false, "detach": true }),
    );
    let id = begun["structuredContent"]["run"].clone();
    while home.approvals().is_empty() {}
    assert_eq!(home.approvals()[0]["path"], "fix.side_effect");
    assert!(home.marks().is_empty());
    home.env.mux(["approve", "A1"]).ok();
    let result = agent.call("resume", json!({ "run": id }));
    assert_eq!(text(&result), "went on", "{result}");
    assert_eq!(home.marks(), ["detached"]);
}

#[test]
fn resuming_does_not_approve_an_unanswered_or_denied_call() {
    let home = Home::with(SOON);
    let env = &home.env;
    let mut agent = Agent::legacy(&home.env, &[], asks());
    for (name, code, word) in [
        ("A1", marking(&home, "never"), "error[denied]"),
        ("A2", marking(&home, "late"), "error[pending]"),
    ] {
        let (id, _) = run(&mut agent, &code);
        let ended = agent.result(id);
        assert_eq!(ended["structuredContent"]["state"], "pending", "{ended}");
        if name == "A1" {
            env.mux(["deny", "A1"]).ok();
        }
        env.mux(["resume", name]).fails(5, &[word]);
        assert!(home.marks().is_empty(), "{name}");
    }
    // The unanswered run still waits.
    env.mux(["approve", "A2"]).ok();
    assert_eq!(env.mux(["resume", "A2"]).ok().stdout, "went on\n");
    assert_eq!(home.marks(), ["late"]);
}

#[test]
fn denied_call_outside_runs_is_not_sent_on_resume() {
    let home = Home::with(SOON);
    let mut agent = Agent::legacy(&home.env, &[], asks());
    let file = home.marks.to_str().unwrap();
    let call = json!({ "path": "fix.side_effect", "arguments": { "file": file, "line": "x" } });
    let id = agent.begin("tools/call", json!({ "name": "call", "arguments": call }));
    agent.wait_for("elicitation/create");
    let ended = agent.result(id);
    assert!(text(&ended).contains("pending"), "{ended}");
    home.env.mux(["deny", "A1"]).ok();
    home.env.mux(["resume", "A1"]).fails(5, &["error[denied]"]);
    assert!(home.marks().is_empty());
}
