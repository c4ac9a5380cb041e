//! A daemon that stands still for a minute.

use mux_tests::TestEnv;
use nix::sys::signal::Signal;

use super::{modes, until};

#[test]
fn a_minute_without_a_daemon_costs_what_was_due_in_it_and_nothing_else() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let daemon = env.serve();
    env.mux(["call", "fix.echo", "text=hi"]).ok();
    let server = env.starts("fix");
    let mut run = env.begin([
        "run",
        "--timeout",
        "20s",
        "-e",
        "console.log('here'); await mux.fix.hang({})",
    ]);
    run.hear("here");
    let call = env.begin(["call", "fix.sleep", "ms=1000"]);
    env.until_logged("fix.sleep");

    daemon.signal(Signal::SIGSTOP);
    // Each of them waits for five seconds, and tells what is the matter.
    let fix = format!("kill -CONT {}", daemon.pid());
    for _ in 0..10 {
        env.mux(["status"]).fails(3, &["is stopped", &fix]);
    }
    env.mux(["doctor"]).fails(1, &["is stopped", &fix]);
    env.run("return 1").fails(3, &["is stopped", &fix]);
    daemon.signal(Signal::SIGCONT);

    // Its time ran out meanwhile.
    run.wait().fails(124, &["timeout"]);
    call.wait().fails(0, &["slept"]);
    let told = until(
        || env.mux(["--json", "status"]).ok().json(),
        "it is told",
        |status| modes(status).contains(&"paused"),
    );
    assert!(
        told.to_string().contains("stood still for about"),
        "{told:#}"
    );
    env.mux(["call", "fix.echo", "text=again"]).ok();
    assert_eq!(env.starts("fix"), server, "the session is the same");
    assert_eq!(env.daemon(), Some(daemon.pid()));
}
