//! No `HOME`, and a login shell that fails.

use mux_tests::{TestEnv, env::output};

use super::modes;

#[test]
fn missing_home_is_reported_and_calls_are_served() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mux = |args: &[&str]| {
        let mut command = env.command("mux");
        command.env_remove("HOME").args(args);
        output(&mut command)
    };
    mux(&["call", "fix.echo", "text=hi"]).ok();
    let shown = mux(&["--json", "status"]).ok().json();
    assert!(modes(&shown).contains(&"no_home"), "{shown:#}");
    mux(&["doctor"]).fails(0, &["HOME is not set", "fix: set HOME"]);
    // A restart with a home fixes it.
    env.mux(["restart"]).ok();
    env.mux(["call", "fix.echo", "text=hi"]).ok();
    let shown = env.mux(["--json", "status"]).ok().json();
    assert_eq!(modes(&shown), Vec::<&str>::new(), "{shown:#}");
}

#[test]
fn failing_login_shell_is_reported() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut command = env.command("mux");
    command
        .env("SHELL", "/bin/false")
        .args(["call", "fix.echo", "text=hi"]);
    output(&mut command).ok();
    let shown = env.mux(["--json", "status"]).ok().json();
    assert_eq!(modes(&shown), ["environment"], "{shown:#}");
    env.mux(["doctor"])
        .fails(0, &["/bin/false", "startup files"]);
}
