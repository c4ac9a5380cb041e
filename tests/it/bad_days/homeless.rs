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
    let told = mux(&["--json", "status"]).ok().json();
    assert!(modes(&told).contains(&"no_home"), "{told:#}");
    mux(&["doctor"]).fails(0, &["HOME is not set", "fix: set HOME"]);
    // A restart with a home fixes it.
    env.mux(["restart"]).ok();
    env.mux(["call", "fix.echo", "text=hi"]).ok();
    let told = env.mux(["--json", "status"]).ok().json();
    assert_eq!(modes(&told), Vec::<&str>::new(), "{told:#}");
}

#[test]
fn failing_login_shell_is_reported() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut command = env.command("mux");
    command
        .env("SHELL", "/bin/false")
        .args(["call", "fix.echo", "text=hi"]);
    output(&mut command).ok();
    let told = env.mux(["--json", "status"]).ok().json();
    assert_eq!(modes(&told), ["environment"], "{told:#}");
    env.mux(["doctor"])
        .fails(0, &["/bin/false", "startup files"]);
}
