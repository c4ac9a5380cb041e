//! Programs that run while another daemon takes over.

use mux_tests::TestEnv;

use super::{assert_ends, count, upgrade};

const SLOW: &str = "await mux.fix.counter({ key: 'k' }); console.log('in flight'); \
                    await mux.fix.sleep({ ms: 1500 }); \
                    return await mux.fix.counter({ key: 'k' })";

#[test]
fn a_run_ends_where_it_is_with_the_session_that_it_has_used() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut run = env.begin(["run", "-e", SLOW]);
    run.hear("in flight");
    let (old, _) = upgrade(&env);
    // The new daemon has a session of its own for whoever cannot wait.
    assert_eq!(
        env.mux(["run", "-e", "return 'new'"]).ok().stdout.trim(),
        "new"
    );
    assert_eq!(run.wait().ok().stdout.trim(), "2");
    assert_ends(old);
    // Then it goes over, since nobody has asked for another.
    assert_eq!(count(&env, "fix"), 3);
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn whoever_cannot_wait_for_a_busy_session_gets_another_one() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut run = env.begin(["run", "-e", SLOW]);
    run.hear("in flight");
    let (old, _) = upgrade(&env);
    assert_eq!(count(&env, "fix"), 1);
    assert_eq!(run.wait().ok().stdout.trim(), "2");
    assert_ends(old);
    assert_eq!(count(&env, "fix"), 2);
    let starts = env.starts("fix");
    assert_eq!(starts.len(), 2);
    assert_ends(starts[0]);
}

#[test]
fn a_call_outside_of_runs_ends_where_it_is_too() {
    let env = TestEnv::new();
    let log = env.path("calls");
    env.write_config(&env.fixture("fix", &["--call-log", log.to_str().unwrap()]));
    count(&env, "fix");
    let call = env.begin(["call", "fix.sleep", "ms=1500"]);
    env.until_called(&log, "sleep", 1, "fix.pid");
    let (old, _) = upgrade(&env);
    assert_eq!(call.wait().ok().stdout.trim(), "slept 1500 ms");
    assert_ends(old);
    assert_eq!(count(&env, "fix"), 2);
}
