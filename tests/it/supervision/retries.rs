//! Calls whose server dies before it answers: which are sent again depends on the tool and on `retry`.

use mux_tests::TestEnv;
use serde_json::{Value, json};

/// Calls a tool in which the first process dies. Returns how often the call arrived, and its result or error kind.
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
fn call_is_sent_again_if_both_the_tool_and_the_config_allow_it() {
    const READ_ONLY: &str = "retry = \"read_only\"\n";
    const IDEMPOTENT: &str = "retry = \"idempotent\"\n";
    for (tool, retry, arrived, ended) in [
        ("die_first", "", 1, "unknown_outcome"),
        ("die_first", READ_ONLY, 2, "alive"),
        ("die_first", IDEMPOTENT, 2, "alive"),
        ("die_once", "", 1, "unknown_outcome"),
        ("die_once", READ_ONLY, 1, "unknown_outcome"),
        ("die_once", IDEMPOTENT, 2, "alive"),
        // This tool has no annotations.
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
fn call_that_is_sent_again_is_reported_to_the_run() {
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
