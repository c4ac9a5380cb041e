//! A daemon that is suspended for a minute.

use mux_tests::TestEnv;
use nix::sys::signal::Signal;

use super::{modes, until};

#[test]
fn suspension_expires_due_timeouts_but_keeps_calls_and_sessions() {
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
    run.wait_for("here");
    let call = env.begin(["call", "fix.sleep", "ms=1000"]);
    env.until_logged("fix.sleep");

    daemon.signal(Signal::SIGSTOP);
    // Each command waits for five seconds and reports the cause.
    let fix = format!("kill -CONT {}", daemon.pid());
    for _ in 0..10 {
        env.mux(["status"]).fails(3, &["is stopped", &fix]);
    }
    env.mux(["doctor"]).fails(1, &["is stopped", &fix]);
    env.run("return 1").fails(3, &["is stopped", &fix]);
    daemon.signal(Signal::SIGCONT);

    // The timeout of the run expired meanwhile.
    run.wait().fails(124, &["timeout"]);
    call.wait().fails(0, &["slept"]);
    let output = until(
        || env.mux(["--json", "status"]).ok().json(),
        "it is told",
        |status| modes(status).contains(&"paused"),
    );
    assert!(
        output.to_string().contains("was suspended for about"),
        "{output:#}"
    );
    env.mux(["call", "fix.echo", "text=again"]).ok();
    assert_eq!(env.starts("fix"), server, "the session is the same");
    assert_eq!(env.daemon(), Some(daemon.pid()));
}
