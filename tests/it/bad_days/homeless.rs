//! No home, and a login shell that tells nothing.

use mux_tests::{TestEnv, env::output};

use super::modes;

#[test]
fn without_a_home_it_works_and_says_what_is_missing() {
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
    // With the next start it is over.
    env.mux(["restart"]).ok();
    env.mux(["call", "fix.echo", "text=hi"]).ok();
    let told = env.mux(["--json", "status"]).ok().json();
    assert_eq!(modes(&told), Vec::<&str>::new(), "{told:#}");
}

#[test]
fn a_login_shell_that_tells_nothing_is_named() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut command = env.command("mux");
    command
        .env("SHELL", "/bin/false")
        .args(["call", "fix.echo", "text=hi"]);
    output(&mut command).ok();
    let told = env.mux(["--json", "status"]).ok().json();
    assert_eq!(modes(&told), ["environment"], "{told:#}");
    env.mux(["doctor"]).fails(0, &["/bin/false", "start files"]);
}
