//! Servers that do not start, start late, or do not end.

use std::{fs, os::unix::fs::PermissionsExt as _};

use mux_tests::{
    TestEnv,
    env::binary,
    process::{self, Tree},
};
use nix::sys::signal::Signal;

use super::{PROMISE, server};

#[test]
fn server_that_exits_at_start_is_quoted_and_retried_by_the_next_call() {
    let env = TestEnv::with_fixtures(&[("bad", &["--exit-at-start", "3"]), ("good", &[])]);
    for attempt in 1..=2 {
        let error = env.error("return await mux.bad.echo({ text: 'x' })");
        assert_eq!(error["kind"], "unavailable");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("`bad` cannot be started"), "{message}");
        assert!(message.contains("exit code 3"), "{message}");
        assert!(message.contains("fatal line 3 of 3"), "{message}");
        assert_eq!(env.starts("bad").len(), attempt);
    }
    assert_eq!(server(&env, "bad")["state"], "failed");
    assert_eq!(env.result("return await mux.good.echo({ text: 'x' })"), "x");
    env.mux(["call", "bad.echo", "text=x"])
        .fails(3, &["exit code 3"]);
}

#[test]
fn mute_server_is_killed_after_its_start_timeout() {
    let env = TestEnv::new();
    let mute = env.fixture("mute", &["--mute", "--ignore-eof", "--grandchild"]);
    let slow = env.fixture("slow", &["--slow-start", "500"]);
    env.write_config(&format!("{mute}start_timeout = \"1s\"\n{slow}"));
    // The slow server is awaited, and is not delayed by the mute one.
    let run = env.begin(["run", "-e", "return await mux.mute.echo({ text: 'x' })"]);
    assert_eq!(
        env.result("return await mux.slow.echo({ text: 'late' })"),
        "late"
    );
    run.wait().fails(
        3,
        &[
            "`mute` cannot be started",
            "not ready within 1s (start_timeout)",
        ],
    );
    let mute = env.starts("mute");
    assert_eq!(mute.len(), 1);
    let left = Tree::watch(process::descendants(env.daemon().unwrap()))
        .pids()
        .into_iter()
        .filter(|pid| process::command_line(*pid).contains("mute.pids"))
        .count();
    assert_eq!(left, 0);
    assert!(!process::is_alive(mute[0]));
}

#[test]
fn start_that_takes_too_long_names_the_key_and_goes_on_at_the_next_call() {
    let env = TestEnv::new();
    let script = env.path("install");
    let installed = env.path("installed");
    fs::write(
        &script,
        format!(
            "#!/bin/sh\n[ -e {installed:?} ] || exec sleep 1000\nexec {:?}\n",
            binary("mux-fixture-server")
        ),
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    env.write_config(&format!(
        "[servers.slow]\ncommand = {script:?}\nstart_timeout = \"1s\"\n"
    ));
    // The breaker refuses a sixth try after other failures.
    for _ in 0..6 {
        env.mux(["call", "slow.echo", "text=x"]).fails(
            3,
            &[
                "not ready within 1s (start_timeout)",
                "start_timeout = \"300s\" in [servers.slow] allows more time",
            ],
        );
    }
    env.mux(["doctor"])
        .fails(1, &["a longer `start_timeout` in [servers.slow]"]);
    fs::write(&installed, "").unwrap();
    let call = || env.mux(["call", "slow.echo", "text=x"]).code;
    // A busy machine may need more than a second for a start.
    assert!((0..20).any(|_| call() == 0));
}

#[test]
fn server_with_only_invalid_output_fails_and_one_with_some_works() {
    let env = TestEnv::new();
    let rubbish = env.fixture("rubbish", &["--rubbish"]);
    let noisy = env.fixture(
        "noisy",
        &["--noise-at-start", "200", "--stderr-at-start", "5000"],
    );
    env.write_config(&format!("{rubbish}start_timeout = \"1s\"\n{noisy}"));
    assert_eq!(
        env.result("return await mux.noisy.echo({ text: 'heard' })"),
        "heard"
    );
    let error = env.error("return await mux.rubbish.echo({ text: 'x' })");
    assert_eq!(error["kind"], "unavailable", "{error:#}");
}

#[test]
fn restart_kills_a_server_that_ignores_signals_with_its_descendants() {
    let env = TestEnv::with_fixtures(&[(
        "fix",
        &[
            "--ignore-eof",
            "--ignore-term",
            "--grandchild",
            "--setsid",
            "--hold-stdio",
        ],
    )]);
    let first = env.result("return await mux.fix.pid({})");
    let tree = Tree::of(env.starts("fix")[0]);
    assert_eq!(tree.pids().len(), 2, "the server and its child");
    env.mux(["servers", "restart", "fix"]).ok();
    // The command returns when the new process runs, which is after the end of the old one.
    assert!(tree.left_after(PROMISE).is_empty());
    assert_ne!(env.result("return await mux.fix.pid({})"), first);
    assert_eq!(env.starts("fix").len(), 2);
}

#[test]
fn descendants_of_a_dead_server_are_ended() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut families = Vec::new();
    for (setsid, hold_stdio) in [(false, false), (true, false), (false, true), (true, true)] {
        let code = format!(
            "return await mux.fix.spawn_grandchild({{ setsid: {setsid}, hold_stdio: {hold_stdio} }})"
        );
        let child: i32 = env.result(&code).as_str().unwrap().parse().unwrap();
        assert!(process::is_alive(child));
        families.push(child);
    }
    let family = Tree::watch(families);
    assert_eq!(family.pids().len(), 4);
    let server = env.starts("fix")[0];
    process::kill(server);
    let left = family.left_after(PROMISE);
    assert!(left.is_empty(), "{left:#?}");
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'again' })"),
        "again"
    );
}

#[test]
fn stopped_server_delays_only_its_own_calls() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    let other = env.fixture("other", &[]);
    env.write_config(&format!("{fix}call_timeout = \"1s\"\n{other}"));
    env.result("return await Promise.all([mux.fix.pid({}), mux.other.pid({})])");
    let pid = env.starts("fix")[0];
    process::send(pid, Signal::SIGSTOP);
    let code = "const late = mux.fix.echo({ text: 'x' }).catch((error) => error.kind);
        const sums = [];
        for (let n = 0; n < 50; n++) sums.push((await mux.other.add({ a: n, b: 0 })).sum);
        return [sums.length, await late]";
    assert_eq!(env.result(code), serde_json::json!([50, "timeout"]));
    process::send(pid, Signal::SIGCONT);
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'awake' })"),
        "awake"
    );
}

#[test]
fn killed_keeper_ends_its_servers_and_the_next_call_starts_both() {
    let env = TestEnv::with_fixtures(&[
        ("fix", &["--grandchild", "--setsid"]),
        ("deaf", &["--ignore-eof", "--ignore-term"]),
    ]);
    let both = "return [await mux.fix.echo({ text: 'x' }), await mux.deaf.echo({ text: 'y' })]";
    for round in 1..=3 {
        env.result(both);
        let daemon = env.daemon().unwrap();
        let keeper = process::descendants(daemon)
            .into_iter()
            .find(|pid| process::command_line(*pid).contains("keeper.lock"))
            .unwrap();
        let tree = Tree::of(keeper);
        assert_eq!(
            tree.pids().len(),
            5,
            "the keeper and its guard, two servers, and the child of one"
        );
        process::kill(keeper);
        let left = tree.left_after(PROMISE);
        assert!(left.is_empty(), "round {round}: {left:#?}");
        assert_eq!(env.daemon(), Some(daemon));
    }
    env.result(both);
    assert_eq!((env.starts("fix").len(), env.starts("deaf").len()), (4, 4));
}

/// Waits until a server is ready, which no call has caused.
fn until_ready(env: &TestEnv, name: &str, starts: usize) {
    while env.starts(name).len() < starts || server(env, name)["state"] != "ready" {
        assert!(env.daemon().is_some(), "the daemon has gone");
    }
}

#[test]
fn killed_server_that_is_in_use_is_started_again_without_a_call() {
    let env = TestEnv::with_fixtures(&[("fix", &["--grandchild", "--setsid"])]);
    for starts in 2..=4 {
        env.result("return await mux.fix.pid({})");
        let pid = *env.starts("fix").last().unwrap();
        let tree = Tree::of(pid);
        process::kill(pid);
        until_ready(&env, "fix", starts);
        assert!(tree.left_after(PROMISE).is_empty());
    }
    env.result("return await mux.fix.pid({})");
    assert_eq!(env.starts("fix").len(), 4);
}

#[test]
fn new_daemon_starts_the_servers_that_were_called_lately() {
    let env = TestEnv::with_fixtures(&[("used", &[]), ("idle", &[])]);
    env.result("return await mux.used.pid({})");
    let before = env.daemon();
    env.mux(["restart"]).ok();
    assert_ne!(env.daemon(), before);
    until_ready(&env, "used", 2);
    env.until_logged("starting in the background");
    env.result("return await mux.used.pid({})");
    assert_eq!((env.starts("used").len(), env.starts("idle").len()), (2, 0));
}
