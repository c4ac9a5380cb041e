//! Commands that never start a daemon.

use std::time::Duration;

use mux_tests::{TestEnv, mux_snapshot, process};

#[test]
fn read_only_commands_do_not_start_the_daemon() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    mux_snapshot!(
        env.transcript(&[
            &["status"],
            &["status", "--json"],
            &["runs"],
            &["runs", "--json"],
            &["runs", "--running"],
            &["runs", "show", "1"],
            &["runs", "watch", "1"],
            &["runs", "cancel", "1"],
            &["stop"],
            &["stop", "--now"],
            &["stop", "--json"],
            &["logs"],
            &["servers", "logs", "fix"],
        ]),
        @r#"
    $ mux status
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    no muxd is running; the first command that needs it starts it

    $ mux status --json
    success: false
    exit_code: 3
    ----- stdout -----
    {
      "running": false,
      "socket": "[HOME]/run/muxd.sock"
    }
    ----- stderr -----

    $ mux runs
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    there are no recent runs

    $ mux runs --json
    success: true
    exit_code: 0
    ----- stdout -----
    {
      "runs": [],
      "total": 0
    }
    ----- stderr -----

    $ mux runs --running
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    nothing is running

    $ mux runs show 1
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    no muxd is running; the first command that needs it starts it

    $ mux runs watch 1
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    no muxd is running; the first command that needs it starts it

    $ mux runs cancel 1
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    no muxd is running; the first command that needs it starts it

    $ mux stop
    success: true
    exit_code: 0
    ----- stdout -----
    no muxd is running
    ----- stderr -----

    $ mux stop --now
    success: true
    exit_code: 0
    ----- stdout -----
    no muxd is running
    ----- stderr -----

    $ mux stop --json
    success: true
    exit_code: 0
    ----- stdout -----
    {
      "stopped": false,
      "pid": null
    }
    ----- stderr -----

    $ mux logs
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no log in [HOME]/state/log yet
      hint: muxd writes it while it runs

    $ mux servers logs fix
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no log for a server `fix`
      hint: a server's log begins when it first starts; see `mux servers`
    "#
    );
    env.mux(["doctor"]).ok();
    for shell in ["bash", "zsh", "fish"] {
        env.mux(["completions", shell]).ok();
    }
    env.mux(["--version"]).ok();
    env.mux(["help"]).ok();
    assert_eq!(env.daemon(), None);
    assert!(!env.dirs.socket().exists());
    assert_eq!(env.starts("fix").len(), 0);
}

#[test]
fn commands_stop_and_restart_end_the_daemon_and_its_servers() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.mux(["call", "fix.pid"]).ok();
    let first = env.daemon().unwrap();
    let server = env.starts("fix")[0];
    let output = env.mux(["restart"]);
    let second = env.daemon().unwrap();
    assert_ne!(first, second);
    mux_snapshot!(output, @"
    success: true
    exit_code: 0
    ----- stdout -----
    muxd [PID] has started
    ----- stderr -----
    ");
    assert!(ends(first) && !process::is_alive(server));
    mux_snapshot!(env.mux(["stop"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    muxd [PID] has exited
    ----- stderr -----
    ");
    assert!(ends(second));
    // The log can still be read.
    let logs = env.mux(["logs", "-n", "3"]).ok();
    assert!(logs.stdout.contains("shutdown complete"), "{logs:#?}");
    let started = env.mux(["restart", "--json"]).ok().json();
    assert_eq!(started["pid"], env.daemon().unwrap());
}

/// Waits for the end of a process. A daemon releases its lock a moment before its process ends.
fn ends(pid: i32) -> bool {
    process::wait_for_end(pid, Duration::from_secs(30))
}
