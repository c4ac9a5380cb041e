//! `kill -9` of the daemon: the next client works immediately, and no process of the old daemon is
//! left.

use std::{fs, os::unix::fs::PermissionsExt, sync::mpsc, thread};

use mux_tests::{
    TestEnv,
    process::{self, Tree},
};
use serde_json::{Value, json};

use super::PROMISE;

/// Kills the daemon `rounds` times, each time followed immediately by a client that uses all
/// servers.
fn kill_again_and_again(rounds: usize, servers: &[(&str, &[&str])]) {
    let env = TestEnv::with_fixtures(servers);
    let names: Vec<&str> = servers.iter().map(|(name, _)| *name).collect();
    let mut old: Option<Tree> = None;
    for round in 1..=rounds {
        let code = format!(
            "return Promise.all({}.map(async (s) => (await mux[s].add({{ a: {round}, b: 1 }})).sum))",
            json!(names)
        );
        let sums = env.result(&code);
        assert_eq!(
            sums,
            Value::from(vec![round + 1; names.len()]),
            "round {round}"
        );
        if let Some(old) = old.take() {
            let left = old.left_after(PROMISE);
            assert!(left.is_empty(), "round {round}: {left:#?}");
        }
        let daemon = env.daemon().unwrap();
        let tree = Tree::of(daemon);
        // The daemon, its keeper, at least two workers, and the servers with their children.
        assert!(tree.pids().len() >= 4 + names.len(), "{:?}", tree.pids());
        process::kill(daemon);
        old = Some(tree);
    }
    let left = old.unwrap().left_after(PROMISE);
    assert!(left.is_empty(), "{left:#?}");
    for name in names {
        assert_eq!(env.starts(name).len(), rounds, "{name}");
    }
}

#[test]
fn killed_daemon_with_plain_server_leaves_no_process() {
    kill_again_and_again(40, &[("fix", &[])]);
}

#[test]
fn killed_daemon_with_stubborn_servers_leaves_no_process() {
    kill_again_and_again(
        10,
        &[
            ("family", &["--grandchild", "--setsid"]),
            ("deaf", &["--ignore-eof"]),
            ("stubborn", &["--ignore-term", "--ignore-eof"]),
            (
                "all",
                &[
                    "--ignore-term",
                    "--ignore-eof",
                    "--grandchild",
                    "--setsid",
                    "--hold-stdio",
                ],
            ),
        ],
    );
}

#[test]
fn call_has_unknown_outcome_and_is_not_repeated_if_the_daemon_is_killed() {
    let env = TestEnv::new();
    let log = env.path("calls");
    env.write_config(&env.fixture("fix", &["--call-log", log.to_str().unwrap()]));
    let run = env.begin(["--json", "run", "-e", "await mux.fix.hang({})"]);
    env.until_called(&log, "hang", 1, "fix.pid");
    let daemon = env.daemon().unwrap();
    let tree = Tree::of(daemon);
    process::kill(daemon);
    let output = run.wait().fails(6, &["\"unknown_outcome\""]);
    assert_eq!(output.json()["error"]["kind"], "unknown_outcome");
    assert_eq!(
        env.result("return (await mux.fix.add({ a: 1, b: 1 })).sum"),
        2
    );
    assert!(tree.left_after(PROMISE).is_empty());
    let calls = fs::read_to_string(log).unwrap();
    assert_eq!(calls.matches("\"hang\"").count(), 1, "{calls}");
}

#[test]
fn daemon_killed_during_server_start_leaves_no_process() {
    let env = TestEnv::with_fixtures(&[("slow", &["--slow-start", "60000", "--ignore-eof"])]);
    let mut run = env.begin([
        "run",
        "-e",
        "console.log('starting'); await mux.slow.echo({ text: '' })",
    ]);
    run.wait_for("starting");
    let daemon = env.daemon().unwrap();
    // The keeper may start the server before the kill, during it, or never.
    process::kill(daemon);
    run.wait().fails(6, &[]);
    let left = Tree::watch(process::mentioning(env.home().to_str().unwrap())).left_after(PROMISE);
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn hanging_login_shell_is_ended_with_its_children() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let shell = env.path("shell");
    fs::write(&shell, "#!/bin/sh\necho >> shells\nsleep 1000 &\nwait\n").unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    let with_shell = |args: &[&str]| {
        let mut command = env.command("mux");
        command.args(args).env("SHELL", &shell);
        mux_tests::env::output(&mut command)
    };
    // A program without tools does not wait for the login shell's environment.
    with_shell(&["run", "-e", "return 1"]).ok();
    let daemon = env.daemon().unwrap();
    let tree = Tree::of(daemon);
    process::kill(daemon);
    let left = tree.left_after(PROMISE);
    assert!(left.is_empty(), "{left:#?}");

    // A shell that does not answer in time is ended, with everything it has started.
    let sum = "return (await mux.fix.add({ a: 1, b: 1 })).sum";
    assert_eq!(with_shell(&["run", "-e", sum]).ok().stdout.trim(), "2");
    let daemon = env.daemon().unwrap();
    let sleepers: Vec<i32> = process::descendants(daemon)
        .into_iter()
        .filter(|pid| process::command_line(*pid).contains("sleep 1000"))
        .collect();
    let left = Tree::watch(sleepers).left_after(PROMISE);
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn daemon_killed_at_any_moment_gives_right_answers_or_unknown_outcome() {
    let env = TestEnv::new();
    let log = env.path("calls");
    env.write_config(&env.fixture("fix", &["--call-log", log.to_str().unwrap()]));
    let rounds = 12;
    let clients = 4;
    let (answered, answers) = mpsc::channel();
    thread::scope(|scope| {
        let works: Vec<_> = (0..clients)
            .map(|client| {
                let env = &env;
                let answered = answered.clone();
                scope.spawn(move || {
                    for round in 0..rounds {
                        let code = format!(
                            "return (await mux.fix.add({{ a: {client}, b: {round} }})).sum"
                        );
                        let output = env.mux(["--json", "run", "-e", &code]);
                        let answer = output.json();
                        match output.code {
                            0 => {
                                assert_eq!(answer["result"], client + round);
                                answered.send(()).unwrap();
                            }
                            6 => assert_eq!(answer["error"]["kind"], "unknown_outcome"),
                            _ => panic!("{output:#?}"),
                        }
                    }
                })
            })
            .collect();
        drop(answered);
        // Some daemons live for a few runs, some for none, and each fifth until a call is answered.
        let mut killed = Vec::new();
        let mut right = 0;
        while works.iter().any(|work| !work.is_finished()) {
            for _ in 0..killed.len() % 5 {
                drop(env.mux(["run", "-e", "return 1"]));
            }
            if killed.len() % 5 == 4 {
                right += answers.try_iter().count();
                // Without another answer, all clients have ended.
                right += answers.recv().map_or(0, |()| 1);
            }
            if let Some(daemon) = env.daemon().filter(|pid| !killed.contains(pid)) {
                process::kill(daemon);
                killed.push(daemon);
            }
        }
        for work in works {
            work.join().unwrap();
        }
        right += answers.try_iter().count();
        assert!(
            right > 0 && !killed.is_empty(),
            "{right} of {}",
            rounds * clients
        );
    });
    // No call was made twice, whether its client got an answer or not.
    let calls = fs::read_to_string(log).unwrap_or_default();
    for client in 0..clients {
        for round in 0..rounds {
            let arguments = format!("{{\"a\":{client},\"b\":{round}}}");
            assert!(
                calls.matches(&arguments).count() <= 1,
                "{arguments} in {calls}"
            );
        }
    }
    env.stop();
    let left = Tree::watch(process::mentioning(env.home().to_str().unwrap())).left_after(PROMISE);
    assert!(left.is_empty(), "{left:#?}");
}
