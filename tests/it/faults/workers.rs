//! Worker processes that die, or cannot be started.

use mux_tests::{
    TestEnv, env,
    process::{self, Tree},
};

use super::PROMISE;

/// The workers of this home's daemon.
fn workers(env: &TestEnv) -> Vec<i32> {
    process::descendants(env.daemon().unwrap())
        .into_iter()
        .filter(|pid| process::command_line(*pid).contains("mux-worker"))
        .collect()
}

#[test]
fn killed_worker_fails_only_its_own_run() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    for _ in 0..5 {
        let code = "const hung = mux.fix.hang({}); await mux.fix.echo({ text: '' }); console.log('in'); await hung";
        let mut run = env.begin(["--json", "run", "-e", code]);
        run.wait_for("in");
        let daemon = env.daemon();
        workers(&env).into_iter().for_each(process::kill);
        let error = run.wait().fails(3, &["signal: 9"]).json()["error"].take();
        assert_eq!(error["kind"], "internal", "{error:#}");
        assert!(
            error["hint"]
                .as_str()
                .unwrap()
                .contains("only this run is lost")
        );
        assert_eq!(
            env.result("return await mux.fix.echo({ text: 'next' })"),
            "next"
        );
        assert_eq!(env.daemon(), daemon);
    }
    // The calls of the lost runs were cancelled, and the first session is still open.
    let cancelled = env.result("return await mux.fix.cancelled({})");
    assert_eq!(cancelled.as_array().unwrap().len(), 5);
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn killed_idle_workers_are_replaced() {
    let env = TestEnv::new();
    for round in 0..20 {
        assert_eq!(env.result(&format!("return {round}")), round);
        let waiting = Tree::watch(workers(&env));
        waiting.pids().into_iter().for_each(process::kill);
        assert!(waiting.left_after(PROMISE).is_empty());
    }
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["runs"]["failed"], 0, "{status:#}");
    assert_eq!(status["runs"]["succeeded"], 20);
}

#[test]
fn missing_worker_program_fails_only_runs() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    for (worker, words) in [
        ("/dev/null/mux-worker", "/dev/null/mux-worker"),
        ("/bin/true", "the worker process ended"),
    ] {
        let mut first = env.command("mux");
        first
            .env("MUX_WORKER", worker)
            .args(["run", "-e", "return 1"]);
        let output = env::output(&mut first).fails(3, &["error[unavailable]", words]);
        assert!(output.stderr.contains("hint:"), "{output:#?}");
        env.mux(["call", "fix.echo", "text=works"]).ok();
        let status = env.mux(["--json", "status"]).ok().json();
        assert!(status["problems"].to_string().contains(words), "{status:#}");
        env.mux(["stop"]).ok();
    }
    assert_eq!(env.result("return 1"), 1);
}

#[test]
fn worker_with_invalid_frames_is_rejected() {
    use std::{fs, os::unix::fs::PermissionsExt};

    let env = TestEnv::new();
    let worker = env.path("worker");
    // The socket is its standard input, to which it writes without a request.
    fs::write(
        &worker,
        "#!/bin/sh\nhead -c 100000 /dev/urandom >&0\nexec sleep 60\n",
    )
    .unwrap();
    fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).unwrap();
    let mut first = env.command("mux");
    first
        .env("MUX_WORKER", &worker)
        .args(["run", "-e", "return 1"]);
    env::output(&mut first).fails(3, &["error[unavailable]", "the worker"]);
    let daemon = env.daemon().unwrap();
    let sleeping = Tree::watch(process::descendants(daemon));
    env.mux(["stop"]).ok();
    assert!(sleeping.left_after(PROMISE).is_empty());
}
