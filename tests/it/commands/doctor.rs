//! `mux doctor`: every problem has a line with a fix, and no process is started.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use mux_tests::{TestEnv, env::output, mux_snapshot};
use serde_json::Value;

/// The checks with this verdict, one line for each.
fn lines_of(document: &Value, verdict: &str) -> String {
    let checks = document["checks"].as_array().unwrap();
    let of_verdict = checks.iter().filter(|check| check["verdict"] == verdict);
    let lines = of_verdict.map(|check| {
        let of = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
        format!("{}: {} ({})\n", of("group"), of("message"), of("fix"))
    });
    lines.collect()
}

#[test]
fn commands_doctor_finds_no_failures_in_a_healthy_home() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let before = env.mux(["doctor"]).ok();
    assert!(before.stdout.contains("no muxd is running"), "{before:#?}");
    assert!(before.stdout.contains("0 failures, "), "{before:#?}");
    assert_eq!((before.stderr.as_str(), env.daemon()), ("", None));

    env.run("return 1").ok();
    let document = env.mux(["doctor", "--json"]).ok().json();
    assert_eq!(document["ok"], true, "{document:#}");
    assert_eq!(document["failures"], 0, "{document:#}");
    let good = lines_of(&document, "ok");
    for part in [
        "programs: muxd is ",
        "daemon: muxd ",
        "servers: 1 configured",
    ] {
        assert!(good.contains(part), "{part:?} in {good}");
    }
    let engine = env.mux(["status", "--json"]).ok().json()["engine"].take();
    let warnings = lines_of(&document, "warning");
    assert_eq!(
        warnings.contains("workers: the engine is quickjs; limits that differ"),
        engine == "quickjs",
        "{warnings}"
    );
}

#[test]
fn commands_doctor_reports_failures_with_fixes() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}[servers.gone]\ncommand = \"/no/such/program\"\n\
         [servers.odd]\ncommand = \"\"\n[surplus]\nkey = 1\n",
        env.fixture("fix", &[]),
    ));
    mux_snapshot!(env.mux(["call", "gone.echo"]), @"
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: the server `gone` cannot be started: /no/such/program: there is no such file
      hint: install the program, or correct its path in `command` in [servers.gone]
    ");
    let output = env
        .mux(["doctor"])
        .fails(1, &["failure servers: gone: ", "fix: ", "failures, "]);
    assert_eq!(output.stderr, "", "{output:#?}");
    let document = env.mux(["doctor", "--json"]).fails(1, &[]).json();
    assert_eq!(document["ok"], false);
    let failures = lines_of(&document, "failure");
    assert_eq!(document["failures"], failures.lines().count(), "{failures}");
    // `gone` has never run, so its fix names no log.
    mux_snapshot!(failures, @"
    servers: unknown key `surplus` (known: servers, sources, policy, limits, daemon, check, agents, pins, results, sandbox, approvals, history, audit, metrics, telemetry) is ignored (`mux logs` shows more; after changing [HOME]/config.toml, run `mux reload`)
    servers: gone: /no/such/program: there is no such file (install it, or write its full path as `command` in [servers.gone] in [HOME]/config.toml)
    servers: odd: `command` is empty (change [servers.odd] in [HOME]/config.toml and run `mux reload`)
    ");
}

#[test]
fn commands_doctor_checks_folders_and_programs_without_a_daemon() {
    let env = TestEnv::new();
    env.dirs.prepare().unwrap();
    fs::write(env.dirs.env_file(), "SECRET=1\n").unwrap();
    fs::set_permissions(env.dirs.env_file(), Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(&env.dirs.cache, Permissions::from_mode(0o755)).unwrap();
    let mut command = env.command("mux");
    command.args(["doctor", "--json"]);
    let document = output(command.env("MUX_DAEMON", "/dev/null/muxd"))
        .fails(1, &[])
        .json();
    let warnings = lines_of(&document, "warning");
    for part in ["other users could read ", "(chmod 600 "] {
        assert!(warnings.contains(part), "{part:?} in {warnings}");
    }
    mux_snapshot!(lines_of(&document, "failure"), @"programs: there is no /dev/null/muxd (install muxd next to mux, or set MUX_DAEMON to its path)");

    fs::set_permissions(&env.dirs.runtime, Permissions::from_mode(0o777)).unwrap();
    let failures = || {
        let document = env.mux(["doctor", "--json"]).fails(1, &[]).json();
        lines_of(&document, "failure")
    };
    mux_snapshot!(failures(), @r#"places: others can write to "[HOME]/run" (mode 777); run: chmod go-w "[HOME]/run" (mux cannot work until this is fixed)"#);
    fs::set_permissions(&env.dirs.runtime, Permissions::from_mode(0o700)).unwrap();
    fs::create_dir(env.dirs.socket()).unwrap();
    mux_snapshot!(failures(), @"daemon: [HOME]/run/muxd.sock is a directory, but it must be the socket (remove [HOME]/run/muxd.sock)");
    fs::remove_dir(env.dirs.socket()).unwrap();
    assert_eq!(env.daemon(), None);
}
