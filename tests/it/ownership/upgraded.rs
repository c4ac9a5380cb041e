//! Runs that end in the predecessor keep their owner.

use mux_proto::{EventsRequest, ResumeRequest, RunsRequest, service::MuxRequest};
use mux_tests::{Agent, TestEnv, frames::Wire, program_result};
use serde_json::{Value, json};

use super::{SECRET, agent, asked, client};

/// Every request that finds a run by its id.
fn ways(run: &str) -> [MuxRequest; 4] {
    let events = EventsRequest {
        run: run.into(),
        after: 0,
        wait_ms: 0,
    };
    let resume = ResumeRequest {
        id: run.into(),
        detach: true,
    };
    [
        MuxRequest::RunInfo { run: run.into() },
        MuxRequest::Events { request: events },
        MuxRequest::ResumeRun { request: resume },
        MuxRequest::CancelRun { run: run.into() },
    ]
}

fn total(wire: &mut Wire) -> Value {
    let request = RunsRequest::default();
    asked(wire, &MuxRequest::Runs { request })["Ok"]["total"].take()
}

#[test]
fn run_in_the_predecessor_is_visible_only_to_its_agent_and_the_user() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let code = format!("console.log('{SECRET}'); await mux.fix.hang({{}})");
    let detached = json!({ "code": code, "check": false, "detach": true });
    let mut big = agent(&env, "big");
    let run = program_result::running(&big.call("run", detached));
    let run = run.as_str();
    let shown = |id: &str| env.mux(["--json", "runs", "show", id]).ok().json();
    while shown(run)["info"]["state"] != "running" {}
    env.mux(["restart", "--upgrade"]).ok();
    let mut small = client(&env, "test-agent", Some("small"));
    for id in [run, "1", "A1"] {
        for way in ways(id) {
            let answer = asked(&mut small, &way);
            assert_eq!(answer["Err"]["kind"], "not_found", "{id}: {answer}");
            assert!(!answer.to_string().contains(SECRET));
        }
    }
    assert_eq!(total(&mut small), 0);
    let mut other = Agent::legacy(&env, &["--agent", "small"], json!({}));
    let answer = other.call("resume", json!({ "run": run, "wait_seconds": 0 }));
    assert_eq!(answer["isError"], true, "{answer}");
    assert_eq!(shown("1")["info"]["state"], "running");
    // The run's agent can follow it by its whole id.
    let mut own = client(&env, "test-agent", Some("big"));
    assert_eq!(total(&mut own), 1);
    assert_eq!(asked(&mut own, &ways("1")[0])["Err"]["kind"], "not_found");
    assert_eq!(asked(&mut own, &ways(run)[0])["Ok"]["run"], run);
    let answer = big.call("resume", json!({ "run": run, "wait_seconds": 0.1 }));
    assert_eq!(program_result::running(&answer), run);
    env.mux(["runs", "cancel", "1"]).ok();
    let answer = big.call("resume", json!({ "run": run }));
    assert_eq!(answer["isError"], true, "{answer}");
}
