//! Calls that get no answer, or the answer of another call.

use mux_tests::TestEnv;

use super::calls_of;

/// A home with a fixture server `fix` that logs its calls, and the well-behaved server `other`.
fn with_log(more: &str) -> (TestEnv, std::path::PathBuf) {
    let env = TestEnv::new();
    let log = env.path("calls");
    let fix = env.fixture("fix", &["--call-log", log.to_str().unwrap()]);
    env.write_config(&format!("{fix}{more}{}", env.fixture("other", &[])));
    (env, log)
}

#[test]
fn mux_call_exits_with_6_if_the_server_dies_in_the_call() {
    let (env, log) = with_log("");
    env.mux(["call", "fix.die_before"])
        .fails(6, &["unknown_outcome", "fix.die_before", "exit code 70"]);
    assert_eq!(calls_of(&log, "die_before"), 1);
    env.mux(["call", "fix.echo", "text=back"]).ok();
}

#[test]
fn run_timeout_names_the_pending_call_and_cancels_it() {
    let (env, _) = with_log("");
    let output = env.mux(["run", "--timeout", "1s", "-e", "await mux.fix.hang({})"]);
    output.fails(124, &["longer than its 1 s", "waiting for fix.hang"]);
    let cancelled = env.result("return await mux.fix.cancelled({})");
    assert_eq!(cancelled.as_array().unwrap().len(), 1);
}
