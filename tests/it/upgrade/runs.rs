//! Runs during an upgrade.

use std::{collections::BTreeSet, thread};

use mux_tests::TestEnv;

use serde_json::Value;

use super::{assert_ends, count, upgrade};

const SLOW: &str = "await mux.fix.counter({ key: 'k' }); console.log('in flight'); \
                    await mux.fix.sleep({ ms: 1500 }); \
                    return await mux.fix.counter({ key: 'k' })";

#[test]
fn run_ends_in_the_old_daemon_with_its_session() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut run = env.begin(["run", "-e", SLOW]);
    run.wait_for("in flight");
    let (old, _) = upgrade(&env);
    // The new daemon serves other clients meanwhile.
    assert_eq!(
        env.mux(["run", "-e", "return 'new'"]).ok().stdout.trim(),
        "new"
    );
    assert_eq!(run.wait().ok().stdout.trim(), "2");
    assert_ends(old);
    // The session is then handed over, because no caller needed another one.
    assert_eq!(count(&env, "fix"), 3);
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn call_during_a_busy_session_gets_another_session() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut run = env.begin(["run", "-e", SLOW]);
    run.wait_for("in flight");
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
fn direct_call_ends_in_the_old_daemon() {
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

#[test]
fn no_two_runs_have_one_number_after_an_upgrade() {
    let env = TestEnv::new();
    let run = || env.mux(["run", "-e", "return 1"]).ok();
    run();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..40).for_each(|_| drop(run())));
        }
        upgrade(&env);
        upgrade(&env);
    });
    run();
    let list = env.mux(["--json", "runs", "--limit", "1000"]).ok().json();
    let runs = list["runs"].as_array().unwrap();
    let number = |run: &Value| {
        let (_, number) = run["run"].as_str().unwrap().rsplit_once('-').unwrap();
        number.to_owned()
    };
    let numbers: BTreeSet<String> = runs.iter().map(number).collect();
    assert_eq!(numbers.len(), runs.len(), "{list:#}");
}

/// Starts a detached run. Returns its id.
fn detach(env: &TestEnv, code: &str) -> String {
    let output = env.mux(["--json", "run", "--detach", "-e", code]).ok();
    output.json()["run"].as_str().unwrap().to_owned()
}

fn listed(env: &TestEnv, run: &str) -> Value {
    let list = env.mux(["--json", "runs"]).ok().json();
    let runs = list["runs"].as_array().unwrap();
    let found = runs.iter().find(|listed| listed["run"] == run);
    found.unwrap_or_else(|| panic!("{run} in {list:#}")).clone()
}

#[test]
fn next_daemon_reports_runs_that_end_in_the_old_ones() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let over = detach(&env, "console.log('old'); return 'over'");
    env.mux(["runs", "watch", &over]).ok();
    let slow = detach(
        &env,
        "console.log('begun'); await mux.fix.sleep({ ms: 4000 }); console.log('more'); return 'slow'",
    );
    let endless = detach(&env, "await new Promise((r) => setTimeout(r, 60_000))");
    let (first, second) = upgrade(&env);
    let (_, third) = upgrade(&env);
    assert_eq!(listed(&env, &over)["state"], "succeeded");
    assert_eq!(listed(&env, &slow)["detached"], true);
    // All its events, from the first to the last.
    let watched = env.mux(["runs", "watch", &slow]).ok();
    assert_eq!(watched.stdout.trim(), "slow");
    assert!(watched.stderr.contains("begun") && watched.stderr.contains("more"));
    assert_eq!(env.mux(["runs", "watch", &over]).ok().stdout.trim(), "over");
    env.mux(["runs", "cancel", &endless]).ok();
    env.mux(["runs", "watch", &endless])
        .fails(130, &["cancelled"]);
    assert_ends(first);
    assert_ends(second);
    // The results are kept.
    assert_eq!(listed(&env, &slow)["state"], "succeeded");
    assert_eq!(listed(&env, &endless)["state"], "failed");
    assert_eq!(env.mux(["runs", "watch", &slow]).ok().stdout.trim(), "slow");
    assert_eq!(env.daemon(), Some(third));
}

#[test]
fn stop_ends_the_old_daemon_too_and_its_death_is_reported() {
    let env = TestEnv::new();
    let code = "await new Promise((r) => setTimeout(r, 120_000))";
    let run = detach(&env, code);
    let (old, new) = upgrade(&env);
    listed(&env, &run);
    env.mux(["stop", "--now"]).ok();
    assert_ends(old);
    assert_ends(new);
    let run = detach(&env, code);
    let (old, _) = upgrade(&env);
    listed(&env, &run);
    mux_tests::process::kill(old);
    let output = env.mux(["runs", "watch", &run]);
    assert!(
        output.stderr.contains("exited before it reported"),
        "{output:#?}"
    );
    assert_eq!(listed(&env, &run)["error"]["kind"], "unknown_outcome");
}

#[test]
fn held_run_can_be_approved_and_resumed_in_the_next_daemon() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fix}[[policy]]\nmatch = \"fix.counter\"\naction = \"ask\"\n"
    ));
    let mut busy = env.begin([
        "run",
        "-e",
        "console.log('busy'); await mux.fix.sleep({ ms: 8000 }); return 1",
    ]);
    busy.wait_for("busy");
    let held = detach(&env, "return await mux.fix.counter({ key: 'k' })");
    let waits = || env.mux(["--json", "approvals"]).ok().json()["approvals"].clone();
    while waits().as_array().unwrap().is_empty() {}
    upgrade(&env);
    // The other run still sleeps in the old daemon.
    let list = loop {
        let list = waits();
        if list.as_array().is_some_and(|list| !list.is_empty()) {
            break list;
        }
    };
    let approval = list[0]["approval"].as_str().unwrap().to_owned();
    env.mux(["approve", &approval]).ok();
    let resumed = env.mux(["resume", &held]).ok();
    assert_eq!(resumed.stdout.trim(), "1");
    assert_eq!(busy.wait().ok().stdout.trim(), "1");
}

#[test]
fn stop_right_after_an_upgrade_ends_both_daemons() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    detach(&env, "await new Promise((r) => setTimeout(r, 120_000))");
    let (old, new) = upgrade(&env);
    env.mux(["stop", "--now"]).ok();
    assert_ends(old);
    assert_ends(new);
}

#[test]
fn run_older_than_two_hundred_others_is_still_known_after_an_upgrade() {
    let env = TestEnv::new();
    let run = detach(&env, "await new Promise((r) => setTimeout(r, 120_000))");
    for _ in 0..205 {
        env.result("return 1");
    }
    let (old, _) = upgrade(&env);
    assert_eq!(
        env.mux(["--json", "runs", "show", &run]).ok().json()["info"]["run"],
        run
    );
    env.mux(["runs", "cancel", &run]).ok();
    assert_ends(old);
}
