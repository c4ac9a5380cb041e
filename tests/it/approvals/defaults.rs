//! Where no rule says anything, a tool that calls itself destructive is asked for if its user can be asked when the
//! work begins; and neither the program nor whoever goes on with it can make that otherwise.

use mux_tests::Agent;
use serde_json::{Value, json};

use super::{
    Home,
    agents::{asks, decided, text},
};

const SOON: &str = "[approvals]\nwait = \"1s\"\n";

/// A program that leaves a mark.
fn marking(home: &Home, line: &str) -> String {
    format!("{}return 'went on'", home.mark(line))
}

fn run(agent: &mut Agent, code: &str) -> (u64, Value) {
    let run = json!({ "name": "run", "arguments": { "code": code, "check": false } });
    let id = agent.begin("tools/call", run);
    (id, agent.hear("elicitation/create"))
}

#[test]
fn a_user_who_can_be_asked_is_asked_and_decides() {
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
    // Where nobody can be asked it is called, as docs/guides/policy.md says.
    let mut mute = Agent::legacy(&home.env, &[], json!({}));
    let code = marking(&home, "mute");
    let result = mute.call("run", json!({ "code": code, "check": false }));
    assert_eq!(text(&result), "went on");
    assert_eq!(home.marks(), ["approved", "mute"]);
}

#[test]
fn a_program_that_is_detached_is_asked_for_as_well() {
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
fn what_nobody_allowed_is_not_sent_by_whoever_goes_on() {
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
    // It waits still, for somebody who says something.
    env.mux(["approve", "A2"]).ok();
    assert_eq!(env.mux(["resume", "A2"]).ok().stdout, "went on\n");
    assert_eq!(home.marks(), ["late"]);
}

#[test]
fn a_call_outside_of_runs_that_nobody_allowed_is_not_sent_either() {
    let home = Home::with(SOON);
    let mut agent = Agent::legacy(&home.env, &[], asks());
    let file = home.marks.to_str().unwrap();
    let call = json!({ "path": "fix.side_effect", "arguments": { "file": file, "line": "x" } });
    let id = agent.begin("tools/call", json!({ "name": "call", "arguments": call }));
    agent.hear("elicitation/create");
    let ended = agent.result(id);
    assert!(text(&ended).contains("pending"), "{ended}");
    home.env.mux(["deny", "A1"]).ok();
    home.env.mux(["resume", "A1"]).fails(5, &["error[denied]"]);
    assert!(home.marks().is_empty());
}
