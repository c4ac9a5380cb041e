//! Resources and prompts that need approval.

use mux_tests::{Agent, Running, TestEnv};
use serde_json::{Value, json};

const READ: &str = "return await mux.resources.fix.read('fix://text/hello')";

/// A home with the server `fix`, whose resources and prompts need approval.
fn home(more: &str) -> TestEnv {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &["--offers"]);
    env.write_config(&format!(
        "{fix}[[policy]]\nmatch = [\"fix.resources/read\", \"fix.prompts/get\"]\naction = \"ask\"\n{more}"
    ));
    env
}

fn held(env: &TestEnv, code: &str, approval: &str) -> Running {
    let mut run = env.begin(["run", "--no-check", "-e", code]);
    run.wait_for(&format!("waiting for approval {approval}"));
    run
}

/// The audit entries of all reads and prompts, in the order in which they ended.
fn decisions(env: &TestEnv) -> Vec<String> {
    env.stop();
    let list = env
        .mux(["--json", "audit", "--tool", "fix.*/*"])
        .ok()
        .json();
    let entries = list["entries"].as_array().unwrap().iter();
    entries
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().unwrap_or("-").to_owned();
            ["path", "decision", "outcome"].map(text).join(" ")
        })
        .collect()
}

#[test]
fn denials_by_user_and_by_rule_added_meanwhile_are_enforced_and_audited() {
    let env = home("");
    let run = held(&env, READ, "A1");
    env.mux(["approve", "A1"]).ok();
    run.wait().ok();
    let run = held(&env, READ, "A2");
    env.mux(["deny", "A2"]).ok();
    run.wait().fails(5, &["denied by the user"]);
    let run = held(&env, READ, "A3");
    let config = std::fs::read_to_string(env.dirs.config_file()).unwrap();
    env.write_config(&config.replace("\"ask\"", "\"deny\""));
    env.mux(["reload"]).ok();
    env.mux(["approve", "A3"]).ok();
    run.wait().fails(5, &["denied by the policy"]);
    assert_eq!(
        decisions(&env),
        [
            "fix.resources/read approved ok",
            "fix.resources/read denied denied",
            "fix.resources/read deny denied",
        ]
    );
}

#[test]
fn unanswered_read_and_prompt_can_be_resumed() {
    let env = home("[approvals]\nwait = \"1s\"\n");
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let read = json!({ "uri": "mux://fix/fix://text/hello" });
    let error = agent.refused("resources/read", read);
    assert!(error.to_string().contains("call `resume` with"), "{error}");
    let get = json!({ "name": "fix__greet", "arguments": { "name": "Ada" } });
    let error = agent.refused("prompts/get", get);
    assert!(error.to_string().contains("call `resume` with"), "{error}");
    env.mux(["approve", "A1"]).ok();
    env.mux(["approve", "A2"]).ok();
    let text = env.mux(["resume", "A1"]).ok().stdout;
    assert!(!text.trim().is_empty());
    let prompt = env.mux(["resume", "A2"]).ok().stdout;
    assert!(prompt.contains("Ada"), "{prompt}");
    assert_eq!(
        decisions(&env),
        [
            "fix.resources/read ask pending",
            "fix.prompts/get ask pending",
            "fix.resources/read approved ok",
            "fix.prompts/get approved ok",
        ]
    );
}

#[test]
fn resumed_run_does_not_repeat_reads_and_prompts() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &["--offers"]);
    env.write_config(&format!(
        "{fix}[approvals]\nwait = \"1s\"\n[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\n"
    ));
    let code = "const text = await mux.resources.fix.read('fix://text/hello');\n\
                const { messages } = await mux.prompts.fix.get('greet', { name: 'Ada' });\n\
                return [typeof text, messages.length, await mux.fix.counter({ key: 'a' })]";
    env.mux(["run", "--no-check", "-e", code])
        .fails(5, &["error[pending]"]);
    env.mux(["approve", "A1"]).ok();
    let resumed = env.mux(["resume", "A1"]).ok();
    assert!(
        resumed.stderr.contains("answered from the record: 2 calls"),
        "{resumed:?}"
    );
    let result: Value = serde_json::from_str(&resumed.stdout).unwrap();
    assert!(result[1].as_u64() > Some(0), "{result}");
    assert_eq!(
        decisions(&env),
        ["fix.resources/read allow ok", "fix.prompts/get allow ok"]
    );
}

#[test]
fn completion_never_asks_for_approval() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &["--offers"]);
    env.write_config(&format!(
        "{fix}[[policy]]\nmatch = \"fix.completion/complete\"\naction = \"ask\"\n"
    ));
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let error = agent.refused(
        "completion/complete",
        json!({
            "ref": { "type": "ref/prompt", "name": "fix__greet" },
            "argument": { "name": "name", "value": "A" },
        }),
    );
    assert!(error.to_string().contains("completions"), "{error}");
    assert_eq!(
        env.mux(["--json", "approvals"]).ok().json()["approvals"],
        json!([])
    );
}
