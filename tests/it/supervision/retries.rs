//! Calls whose server dies before it answers: what is sent again, by what the tool and the user say.

use mux_tests::TestEnv;
use serde_json::{Value, json};

/// A tool in which the first process dies, so often as it arrived, and how the call ended.
fn outcome(tool: &str, retry: &str) -> (usize, Value) {
    let env = TestEnv::new();
    let log = env.path("calls");
    let fix = env.fixture("fix", &["--die-first", "--call-log", log.to_str().unwrap()]);
    env.write_config(&format!("{fix}{retry}"));
    let arguments = match tool {
        "die_once" => json!({ "file": env.path("mark") }),
        _ => json!({}),
    };
    let code = format!("return await mux.fix.{tool}({arguments}).catch((error) => error.kind)");
    let ended = env.result(&code);
    let arrived = std::fs::read_to_string(&log).unwrap();
    (
        arrived.matches(&format!("\"tool\":\"{tool}\"")).count(),
        ended,
    )
}

#[test]
fn what_is_sent_again_is_what_both_the_tool_and_the_user_allow() {
    const READ_ONLY: &str = "retry = \"read_only\"\n";
    const IDEMPOTENT: &str = "retry = \"idempotent\"\n";
    for (tool, retry, arrived, ended) in [
        ("die_first", "", 1, "unknown_outcome"),
        ("die_first", READ_ONLY, 2, "alive"),
        ("die_first", IDEMPOTENT, 2, "alive"),
        ("die_once", "", 1, "unknown_outcome"),
        ("die_once", READ_ONLY, 1, "unknown_outcome"),
        ("die_once", IDEMPOTENT, 2, "alive"),
        // It promises nothing.
        ("die_before", IDEMPOTENT, 1, "unknown_outcome"),
    ] {
        assert_eq!(
            outcome(tool, retry),
            (arrived, json!(ended)),
            "{tool} {retry}"
        );
    }
}

#[test]
fn a_run_is_told_that_a_call_was_sent_again() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &["--die-first"]);
    env.write_config(&format!("{fix}retry = \"read_only\"\n"));
    let output = env.run("return await mux.fix.die_first({})");
    assert!(
        output.stderr.contains("fix.die_first is sent again"),
        "{output:#?}"
    );
    assert!(output.stdout.contains("alive"), "{output:#?}");
}
