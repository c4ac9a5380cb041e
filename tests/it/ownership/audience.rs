//! Who is asked for approvals of a resumed run, and whom the audit log names.

use mux_tests::{Agent, TestEnv};
use serde_json::{Value, json};

const CODE: &str = "return await mux.fix.counter({ key: 'a' })";

fn home() -> TestEnv {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fix}[approvals]\nwait = \"1s\"\n[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\n"
    ));
    env
}

/// Starts a run of `big` in this workspace that waits for an approval, and returns the id to resume it.
fn pending(env: &TestEnv, workspace: &str) -> String {
    let mut agent = Agent::legacy(env, &arguments(workspace), json!({}));
    let ended = agent.call("run", json!({ "code": CODE, "check": false }));
    let output = &ended["structuredContent"];
    assert_eq!(output["state"], "pending", "{ended}");
    output["error"]["details"]["resume"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn arguments(workspace: &str) -> [&str; 5] {
    ["--agent", "big", "--structured", "--workspace", workspace]
}

/// An agent whose user can be asked with a form.
fn with_forms(env: &TestEnv, args: &[&str]) -> Agent {
    Agent::legacy(env, args, json!({ "elicitation": { "form": {} } }))
}

fn state(env: &TestEnv) -> Value {
    env.mux(["--json", "approvals"]).ok().json()["approvals"][0]["state"].take()
}

#[test]
fn another_agent_cannot_resume_a_run_and_its_user_is_not_asked() {
    let env = home();
    let run = pending(&env, "/tmp");
    for args in [
        &["--agent", "other", "--workspace", "/tmp"][..],
        &["--workspace", "/tmp"],
    ] {
        let mut other = with_forms(&env, args);
        for id in [&*run, "A1", "1"] {
            let answer = other.call("resume", json!({ "run": id }));
            let text = answer["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("not_found: "), "{answer}");
        }
        assert!(
            other
                .heard
                .iter()
                .all(|said| said["method"] != "elicitation/create")
        );
    }
    assert_eq!(state(&env), "pending");
}

#[test]
fn same_agent_in_another_workspace_resumes_a_run_and_its_user_is_not_asked() {
    let env = home();
    let run = pending(&env, "/tmp");
    let mut elsewhere = with_forms(&env, &arguments("/"));
    let answer = elsewhere.call("resume", json!({ "run": run }));
    assert_eq!(answer["structuredContent"]["state"], "pending", "{answer}");
    assert!(
        elsewhere
            .heard
            .iter()
            .all(|said| said["method"] != "elicitation/create")
    );
    // The user's approval applies wherever the run is resumed.
    env.mux(["approve", "A1"]).ok();
    let answer = elsewhere.call("resume", json!({ "run": run }));
    assert_eq!(answer["structuredContent"]["result"], "1", "{answer}");
}

#[test]
fn audit_log_names_the_client_that_approved() {
    let env = home();
    let run = pending(&env, "/tmp");
    let mut again = with_forms(&env, &arguments("/tmp"));
    let resume = json!({ "name": "resume", "arguments": { "run": run } });
    // A user who does not answer in time is asked again.
    let answer = loop {
        let id = again.begin("tools/call", resume.clone());
        let form = again.wait_for("elicitation/create");
        let content = json!({ "decision": "allow once" });
        again.reply(&form, json!({ "action": "accept", "content": content }));
        let answer = again.result(id);
        if answer["structuredContent"]["state"] != "pending" {
            break answer;
        }
    };
    assert_eq!(answer["structuredContent"]["result"], "1", "{answer}");
    let pid = again.pid();
    drop(again);
    env.stop();
    let list = env.mux(["--json", "audit", "-n", "100"]).ok().json();
    let entries = list["entries"].as_array().unwrap();
    let approved = entries
        .iter()
        .find(|entry| entry["kind"] == "call_approved");
    let approved = approved.unwrap_or_else(|| panic!("{list:#}"));
    assert_eq!(approved["pid"], pid, "{approved}");
    assert_eq!(
        (&approved["client"], &approved["agent"]),
        (&json!("test-agent"), &json!("big"))
    );
}

#[test]
fn pending_call_outside_of_runs_is_resumed_by_its_secret_name() {
    let env = home();
    let mut agent = Agent::legacy(&env, &arguments("/tmp"), json!({}));
    let call = json!({ "path": "fix.counter", "arguments": { "key": "a" } });
    let output = agent.call("call", call);
    let output = output["content"][0]["text"].as_str().unwrap();
    let name = output.split('"').nth(1).unwrap().to_owned();
    assert!(name.starts_with("A1.") && name.len() > 20, "{output}");
    env.mux(["approve", "A1"]).ok();
    // The pending call survives the daemon.
    env.stop();
    for wrong in ["A1", "A1.", &name[..name.len() - 1]] {
        let answer = agent.call("resume", json!({ "run": wrong }));
        assert_eq!(answer["isError"], true, "{wrong}: {answer}");
    }
    let answer = agent.call("resume", json!({ "run": name }));
    assert_eq!(
        answer["structuredContent"]["result"]["content"][0]["text"], "1",
        "{answer}"
    );
}
