//! Without a matching rule, a destructive tool needs approval if the user of an agent can be asked.

use mux_tests::Agent;
use serde_json::json;

use super::{
    Home,
    agents::{asks, text},
};

const SOON: &str = "[approvals]\nwait = \"1s\"\n";

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
