//! `mux doctor`: every problem has a line with a fix, and nothing is started.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use mux_tests::{TestEnv, env::output};
use serde_json::Value;

use super::complains;

/// The checks with this verdict, one text for each.
fn told(document: &Value, verdict: &str) -> Vec<String> {
    let checks = document["checks"].as_array().unwrap();
    checks
        .iter()
        .filter(|check| check["verdict"] == verdict)
        .map(|check| {
            let of = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {} ({})", of("group"), of("message"), of("fix"))
        })
        .collect()
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
    let good = told(&document, "ok").join("\n");
    for part in [
        "programs: muxd is ",
        "daemon: muxd ",
        "servers: 1 configured",
    ] {
        assert!(good.contains(part), "{part:?} in {good}");
    }
    let engine = env.mux(["status", "--json"]).ok().json()["engine"].take();
    let warnings = told(&document, "warning").join("\n");
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
    complains(env.mux(["call", "gone.echo"]), 3, &[]);
    let output = env.mux(["doctor"]).fails(
        1,
        &[
            "failure gone: ",
            "gone: /no/such/program: there is no such file",
            "install it, or write its full path as `command` in [servers.gone]",
            "failure odd: ",
            "change [servers.odd] in ",
            "failures, ",
        ],
    );
    assert_eq!(output.stderr, "", "{output:#?}");
    // It has never run, so it has no log.
    assert!(!output.stdout.contains("servers logs gone"), "{output:#?}");
    let document = env.mux(["doctor", "--json"]).fails(1, &[]).json();
    assert_eq!(document["ok"], false);
    let failures = told(&document, "failure");
    assert_eq!(document["failures"], failures.len(), "{failures:#?}");
    assert!(
        failures.iter().any(|failure| failure.contains("surplus")),
        "{failures:#?}"
    );
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
    let document = output(command.env("MUX_DAEMON", "/nonexistent/muxd"))
        .fails(1, &[])
        .json();
    let warnings = told(&document, "warning").join("\n");
    for part in ["other users could look into ", "(chmod 600 "] {
        assert!(warnings.contains(part), "{part:?} in {warnings}");
    }
    let failures = told(&document, "failure").join("\n");
    assert!(
        failures.contains("there is no /nonexistent/muxd") && failures.contains("MUX_DAEMON"),
        "{failures}"
    );

    fs::set_permissions(&env.dirs.runtime, Permissions::from_mode(0o777)).unwrap();
    env.mux(["doctor"]).fails(1, &["chmod go-w"]);
    fs::set_permissions(&env.dirs.runtime, Permissions::from_mode(0o700)).unwrap();
    fs::create_dir(env.dirs.socket()).unwrap();
    env.mux(["doctor"]).fails(1, &["muxd.sock", "fix: "]);
    fs::remove_dir(env.dirs.socket()).unwrap();
    assert_eq!(env.daemon(), None);
}
