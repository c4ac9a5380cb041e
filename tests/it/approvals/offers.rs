//! Resources and prompts that need approval.

use mux_tests::{Agent, TestEnv};
use serde_json::{Value, json};

/// A home with the server `fix`, whose resources and prompts need approval.
fn home(more: &str) -> TestEnv {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &["--offers"]);
    env.write_config(&format!(
        "{fix}[[policy]]\nmatch = [\"fix.resources/read\", \"fix.prompts/get\"]\naction = \"ask\"\n{more}"
    ));
    env
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
        resumed.stderr.contains("2 calls answered from the record"),
        "{resumed:?}"
    );
    let result: Value = serde_json::from_str(&resumed.stdout).unwrap();
    assert!(result[1].as_u64() > Some(0), "{result}");
    assert_eq!(
        decisions(&env),
        ["fix.resources/read allow ok", "fix.prompts/get allow ok"]
    );
}
