//! How long a call may take without progress, and in total.

use mux_tests::TestEnv;

fn with_limits(limits: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write_config(&format!("{}{limits}", env.fixture("fix", &["--offers"])));
    env
}

#[test]
fn progress_resets_the_call_timeout() {
    let env = with_limits("call_timeout = \"1s\"\n");
    let code = "return [await mux.fix.progress({ steps: 5, ms: 500 }),
        await mux.fix.progress({ steps: 2, ms: 1500 }).catch((error) => error.kind)]";
    assert_eq!(env.result(code), serde_json::json!(["done", "timeout"]));
}

#[test]
fn total_timeout_ends_a_call_despite_progress() {
    let env = with_limits("call_timeout = \"1s\"\ntotal_timeout = \"2s\"\n");
    let error = env.error("return await mux.fix.progress({ steps: 100, ms: 300 })");
    assert_eq!(error["kind"], "timeout");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("longer than 2s in all"), "{message}");
    assert!(error["hint"].as_str().unwrap().contains("total_timeout"));
    // The timeout of a caller is for the whole call.
    env.mux([
        "call",
        "fix.progress",
        "steps=100",
        "ms=100",
        "--timeout",
        "700ms",
    ])
    .fails(124, &["700ms"]);
    // The session survives.
    assert_eq!(env.result("return await mux.fix.echo({ text: 'x' })"), "x");
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn server_that_cannot_list_its_tools_again_is_degraded_but_works() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &["--list-once"]);
    env.write_config(&format!("{fix}start_timeout = \"1s\"\n"));
    assert_eq!(env.result("return await mux.fix.list_changed({})"), "said");
    let server = super::until_seen(&env, "fix", |server| server["state"] == "degraded");
    let reason = server["reason"].as_str().unwrap();
    assert!(reason.contains("cannot be listed"), "{reason}");
    assert_eq!(env.result("return await mux.fix.echo({ text: 'x' })"), "x");
    env.mux(["servers", "restart", "fix"]).ok();
    assert_eq!(super::seen(&env, "fix")["state"], "ready");
}
