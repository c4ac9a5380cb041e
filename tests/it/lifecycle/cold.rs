//! Cold start: clients start exactly one daemon, regardless of how many start it at the same time
//! and how.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::DirBuilderExt,
    path::Path,
    process::{Command, Stdio},
};

use mux_tests::{Running, TestEnv, frames, process};
use nix::sys::signal::Signal;
use serde_json::json;

use super::{PROMISE, SOON};

/// Stops the daemon, and returns how many daemons of this home have served.
fn daemons(env: &TestEnv) -> usize {
    env.stop();
    env.log().matches("serving pid=").count()
}

#[test]
fn hundred_concurrent_clients_share_one_daemon_and_one_process_per_server() {
    let env = TestEnv::with_fixtures(&[("one", &[]), ("two", &[]), ("three", &[])]);
    let clients: Vec<Running> = (0..100)
        .map(|n| {
            let code = format!(
                "const calls = [mux.one, mux.two, mux.three].map((s, i) => s.add({{ a: {n}, b: i }}));
                 return (await Promise.all(calls)).map((answer) => answer.sum);"
            );
            env.begin(["--json", "run", "-e", &code])
        })
        .collect();
    for (n, client) in clients.into_iter().enumerate() {
        let answer = client.wait().ok().json();
        assert_eq!(answer["result"], json!([n, n + 1, n + 2]));
    }
    for server in ["one", "two", "three"] {
        assert_eq!(env.starts(server).len(), 1, "{server}");
    }
    assert_eq!(daemons(&env), 1);
}

#[test]
fn clients_killed_during_daemon_start_do_not_affect_others() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let clients: Vec<Running> = (0..30)
        .map(|n| {
            let code = format!("return (await mux.fix.add({{ a: {n}, b: 0 }})).sum");
            let client = env.begin(["run", "-e", &code]);
            if n % 2 == 0 {
                client.signal(Signal::SIGKILL);
            }
            client
        })
        .collect();
    for (n, client) in clients.into_iter().enumerate() {
        let output = client.wait();
        if n % 2 == 1 {
            assert_eq!(output.ok().stdout.trim(), n.to_string());
        }
    }
    assert_eq!(env.starts("fix").len(), 1);
    assert_eq!(daemons(&env), 1);
}

#[test]
fn suspended_client_does_not_block_the_next_daemon_start() {
    let env = TestEnv::new();
    let client = env.begin([
        "run",
        "-e",
        "await new Promise((r) => setTimeout(r, 60_000))",
    ]);
    // The daemon serves when this returns.
    env.result("return 1");
    client.signal(Signal::SIGSTOP);
    let daemon = env.daemon().unwrap();
    process::kill(daemon);
    assert!(process::wait_for_end(daemon, PROMISE));
    assert_eq!(env.result("return 2"), 2);
}

#[test]
fn second_daemon_started_by_hand_reports_that_one_is_running() {
    let env = TestEnv::new();
    let (reader, writer) = std::io::pipe().unwrap();
    let start = || -> std::process::Child {
        let mut command = env.command("muxd");
        command.stdout(writer.try_clone().unwrap());
        command.stderr(Stdio::null()).spawn().unwrap()
    };
    let mut daemons = [start(), start()];
    drop(writer);
    let mut line = String::new();
    BufReader::new(reader).read_line(&mut line).unwrap();
    assert!(line.contains("already running"), "{line:?}");

    let serving = env.mux(["--json", "status"]).ok().json()["pid"].clone();
    let serving = u32::try_from(serving.as_u64().unwrap()).unwrap();
    env.mux(["stop"]).ok();
    assert!(daemons.iter().any(|daemon| daemon.id() == serving));
    for daemon in &mut daemons {
        assert!(daemon.wait().unwrap().success());
    }
}

#[test]
fn daemon_started_by_hand_and_by_a_client_at_once_is_one_daemon() {
    for by_hand_first in [true, false] {
        let env = TestEnv::new();
        let by_hand = |env: &TestEnv| {
            let mut muxd = env.command("muxd");
            muxd.stdout(Stdio::null()).stderr(Stdio::null());
            muxd.spawn().unwrap()
        };
        let client = |env: &TestEnv| env.begin(["run", "-e", "return 7"]);
        let (mut muxd, client) = if by_hand_first {
            (by_hand(&env), client(&env))
        } else {
            let client = client(&env);
            (by_hand(&env), client)
        };
        assert_eq!(client.wait().ok().stdout.trim(), "7");
        assert_eq!(daemons(&env), 1);
        assert!(muxd.wait().unwrap().success());
    }
}

#[test]
fn sessions_with_different_runtime_directories_share_one_daemon() {
    let env = TestEnv::new();
    let runtime = env.path("runtime");
    fs::DirBuilder::new().mode(0o700).create(&runtime).unwrap();
    let mux = |runtime: Option<&Path>, args: &[&str]| {
        let mut command = env.command("mux");
        command.args(args).env_remove("MUX_HOME");
        if let Some(runtime) = runtime {
            command.env("XDG_RUNTIME_DIR", runtime);
        }
        mux_tests::env::output(&mut command).ok()
    };
    let status = ["--json", "status"];
    let session = Some(runtime.as_path());
    for (first, second) in [(session, None), (None, session)] {
        mux(first, &["run", "-e", "return 1"]);
        mux(second, &["run", "-e", "return 2"]);
        let pid = mux(first, &status).json()["pid"].clone();
        assert_eq!(mux(second, &status).json()["pid"], pid);
        mux(second, &["stop"]);
    }
}

#[test]
fn daemons_of_two_homes_are_independent() {
    let fixtures: &[(&str, &[&str])] = &[("fix", &[])];
    let left = TestEnv::with_fixtures(fixtures);
    let right = TestEnv::with_fixtures(fixtures);
    let pid = |env: &TestEnv| env.result("return await mux.fix.pid({})");
    let in_left = pid(&left);
    let in_right = pid(&right);
    assert_ne!(in_left, in_right);
    assert_ne!(left.daemon(), right.daemon());
    let of_left = left.daemon().unwrap();
    left.mux(["stop", "--now"]).ok();
    assert!(process::wait_for_end(of_left, PROMISE));
    assert_eq!(pid(&right), in_right);
}

#[test]
fn daemon_has_its_own_session_and_survives_hangup_of_the_clients_terminal() {
    let env = TestEnv::new();
    // As in an interactive shell: a separate process group, and a closed terminal.
    let mut command = Command::new("setsid");
    let mux = env.command("mux");
    command.arg(mux.get_program()).args([
        "run",
        "-e",
        "console.log('here'); await new Promise(() => setTimeout(() => {}, 60_000))",
    ]);
    command.env_clear().current_dir(env.home());
    command.envs(
        mux.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let mut client = Running::start(&mut command);
    client.wait_for("here");
    let daemon = env.daemon().unwrap();
    assert_eq!(process::session(daemon), daemon);
    for descriptor in 0..3 {
        // Only root can read this, because the daemon is not dumpable.
        let Ok(open) = std::fs::read_link(format!("/proc/{daemon}/fd/{descriptor}")) else {
            continue;
        };
        assert_eq!(open.to_str(), Some("/dev/null"), "descriptor {descriptor}");
    }

    client.close_output();
    let session = process::session(client.pid());
    assert_ne!(session, daemon);
    nix::sys::signal::killpg(nix::unistd::Pid::from_raw(session), Signal::SIGHUP).unwrap();
    client.end();
    assert_eq!(env.result("return 3"), 3);
    assert_eq!(env.daemon(), Some(daemon));
}

#[test]
fn client_of_another_contract_is_answered_and_can_retire_the_daemon() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let code = "console.log('in flight'); await mux.fix.sleep({ ms: 700 }); return 'finished'";
    let mut run = env.begin(["run", "-e", code]);
    run.wait_for("in flight");
    let old = env.daemon().unwrap();

    // Two such clients: the second request does not cut the drain of the first short.
    let mut newer: Vec<frames::Wire> = Vec::new();
    for _ in 0..2 {
        newer.push(frames::Wire::connect(&env.dirs.socket()));
    }
    for wire in &mut newer {
        let welcome = wire.call(&frames::hello(999));
        let welcome = &welcome["message"]["Ok"]["Hello"]["Ok"];
        assert_eq!(
            (&welcome["contract"], &welcome["pid"]),
            (&json!(mux_proto::version::CONTRACT), &json!(old))
        );
    }
    for wire in &mut newer {
        let retire = json!({ "Retire": { "reason": "contract 999" } });
        let answer = wire.call(&retire);
        assert_eq!(answer["message"]["Ok"]["Retire"], json!({ "Ok": null }));
    }
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'new' })"),
        "new"
    );
    assert_ne!(env.daemon(), Some(old));
    assert!(process::wait_for_end(old, SOON));
    assert_eq!(run.wait().ok().stdout.trim(), "finished");
}
