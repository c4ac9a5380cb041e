//! Commands that never start a daemon.

use std::time::Duration;

use mux_tests::{TestEnv, process};
use serde_json::json;

use super::{complains, prints};

#[test]
fn read_only_commands_do_not_start_the_daemon() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    complains(env.mux(["status"]), 3, &["no muxd is running"]);
    let status = env.mux(["status", "--json"]).fails(3, &[]).json();
    assert_eq!(
        status,
        json!({ "running": false, "socket": env.dirs.socket() })
    );
    for (args, said) in [
        (&["runs"][..], "there are no recent runs\n"),
        (&["runs", "--running"], "nothing is running\n"),
    ] {
        let none = env.mux(args).ok();
        assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", said));
    }
    let none = env.mux(["runs", "--json"]).ok().json();
    assert_eq!(none, json!({ "runs": [], "total": 0 }));
    for args in [
        &["runs", "show", "1"][..],
        &["runs", "watch", "1"],
        &["runs", "cancel", "1"],
    ] {
        complains(env.mux(args), 3, &["no muxd is running"]);
    }
    env.mux(["doctor"]).ok();
    prints(env.mux(["stop"]), "no muxd is running\n");
    prints(env.mux(["stop", "--now"]), "no muxd is running\n");
    let stopped = env.mux(["stop", "--json"]).ok().json();
    assert_eq!(stopped, json!({ "stopped": false, "pid": null }));
    complains(env.mux(["logs"]), 1, &["there is no log"]);
    complains(
        env.mux(["servers", "logs", "fix"]),
        1,
        &["there is no log of a server `fix`"],
    );
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
    let (first, server) = (env.daemon().unwrap(), env.starts("fix")[0]);
    let output = env.mux(["restart"]).ok();
    let second = env.daemon().unwrap();
    assert_ne!(first, second);
    assert_eq!(output.stdout, format!("muxd {second} is running\n"));
    assert!(ends(first) && !process::is_alive(server));
    prints(env.mux(["stop"]), &format!("muxd {second} has ended\n"));
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
