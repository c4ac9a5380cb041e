//! A daemon without free file descriptors.

use std::{fs, process::Command};

use mux_client::{ClientIdentity, ConnectError, Session, connect, within_seconds};
use mux_proto::{Kind, RunsRequest};
use mux_tests::{Output, TestEnv, env::output};
use serde_json::Value;

use super::{modes, until};

/// Runs `mux`, and the daemon that it starts, with a `ulimit`.
fn with_limit(env: &TestEnv, limit: &str, args: &[&str]) -> Output {
    let mux = env.command("mux");
    let mut command = Command::new("/bin/sh");
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    command
        .args(["-c", &script])
        .arg(mux.get_program())
        .args(args);
    command.env_clear();
    let passed = mux.get_envs();
    command.envs(passed.filter_map(|(name, value)| Some((name, value?))));
    output(&mut command)
}

fn status(env: &TestEnv) -> Value {
    env.mux(["--json", "status"]).ok().json()
}

/// Connects clients until one of them gets the error `busy`.
async fn crowd(env: &TestEnv) -> Vec<Session> {
    let mut sessions = Vec::new();
    loop {
        assert!(sessions.len() < 200, "there is always room");
        let session = match connect(&env.dirs, &ClientIdentity::new("crowd", "1")).await {
            Ok(session) => session,
            Err(ConnectError::Refused(error)) => panic!("{error:?}"),
            Err(error) => panic!("{error}"),
        };
        let runs = session
            .client
            .runs(within_seconds(60), RunsRequest::default());
        let answer = runs.await.unwrap();
        sessions.push(session);
        if let Err(error) = answer {
            assert_eq!(error.kind, Kind::Busy, "{error:?}");
            assert!(error.message.contains("descriptors"), "{error:?}");
            assert!(error.hint.unwrap().contains("ulimit -n"));
            return sessions;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemon_without_descriptors_refuses_new_clients_and_serves_others() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    with_limit(&env, "-n 56", &["call", "fix.echo", "text=hi"]).ok();
    let pid = env.daemon();
    // Such a low limit is reported, whether it is reached or not.
    assert!(
        modes(&status(&env)).contains(&"descriptors"),
        "{:#}",
        status(&env)
    );

    let mut sessions = crowd(&env).await;
    // Refused clients that stay connected do not keep others from their error.
    for _ in 0..3 {
        sessions.extend(crowd(&env).await);
    }
    // A descriptor may become free after the crowd was complete, such as that of a worker that has ended.
    let refused = loop {
        let run = env.run("return 1");
        if run.code != 0 {
            break run;
        }
        sessions.extend(crowd(&env).await);
    };
    refused.fails(3, &["busy", "file descriptors", "ulimit -n"]);
    let output = status(&env);
    let strait = output["degraded"].as_array().unwrap();
    let strait = strait
        .iter()
        .find(|strait| strait["mode"] == "descriptors")
        .unwrap();
    assert!(
        strait["message"].as_str().unwrap().contains("in use"),
        "{output:#}"
    );
    assert!(
        strait["fix"].as_str().unwrap().contains("LimitNOFILE="),
        "{output:#}"
    );
    // The command also reports files that the daemon could not read meanwhile, such as its configuration.
    let doctor = env.mux(["doctor"]);
    assert!(
        doctor.stdout.contains("file descriptors are in use"),
        "{doctor:#?}"
    );
    // Connected clients are still served.
    let first = &sessions[0];
    let runs = first
        .client
        .runs(within_seconds(60), RunsRequest::default());
    runs.await.unwrap().unwrap();

    drop(sessions);
    // The daemon notices the disconnections one after the other.
    until(
        || status(&env),
        "they have gone",
        |status| status["clients"] == 1,
    );
    for _ in 0..200 {
        if env.run("return 1").code == 0 {
            break;
        }
    }
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'again' })"),
        "again"
    );
    assert_eq!(env.daemon(), pid, "it is the same daemon");
}

#[test]
fn tiny_descriptor_limit_is_served_or_reported() {
    for limit in ["-n 32", "-n 24", "-n 16"] {
        let env = TestEnv::with_fixtures(&[("fix", &[])]);
        let said = with_limit(&env, limit, &["call", "fix.echo", "text=hi"]);
        let output = status(&env);
        let all = format!("{}{}{output}", said.stdout, said.stderr);
        assert!(
            said.code == 0
                || all.contains("Too many open files")
                || all.contains("file descriptors"),
            "{limit}: {said:#?}"
        );
        assert!(
            modes(&output).contains(&"descriptors"),
            "{limit}: {output:#}"
        );
        env.stop();
    }
}

#[test]
fn soft_limit_is_raised_for_the_daemon_but_not_for_servers() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let server = with_limit(&env, "-S -n 200", &["call", "fix.pid"])
        .ok()
        .stdout;
    let soft = |pid: &str| -> u64 {
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max open files"));
        line.unwrap()
            .split_whitespace()
            .nth(3)
            .unwrap()
            .parse()
            .unwrap()
    };
    assert_eq!(soft(server.trim()), 200);
    let daemon = env.daemon().unwrap().to_string();
    assert!(
        soft(&daemon) > 200,
        "the hard limit of this machine is higher"
    );
}
