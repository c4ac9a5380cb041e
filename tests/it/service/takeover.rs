//! Two who would start a daemon: a client and systemd. There is one in the end.

use std::{os::unix::net::UnixListener, process::Stdio};

use mux_tests::{Running, TestEnv, process};

use super::{HANG, activate, bound};

#[test]
fn a_daemon_that_lost_its_path_to_systemd_goes_and_the_next_one_waits_for_it() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return await mux.fix.pid({})");
    let old = env.daemon().unwrap();
    // systemd removes what stands there, and listens itself.
    let socket = bound(&env);
    let daemon = activate(&env, socket.try_clone().unwrap(), &[]);
    env.result("return await mux.fix.pid({})");
    assert!(!process::is_alive(old));
    assert_eq!(env.daemon(), Some(daemon.pid()));
    assert_eq!(env.starts("fix").len(), 2);
    env.mux(["stop"]).ok();
    assert!(daemon.end().success());
    assert!(env.dirs.socket().exists());
}

#[test]
fn a_daemon_that_serves_elsewhere_is_asked_to_make_room() {
    let env = TestEnv::new();
    env.result("return 1");
    let old = env.daemon().unwrap();
    let path = env.path("passed.sock");
    let socket = UnixListener::bind(&path).unwrap();
    let daemon = activate(&env, socket, &[]);
    assert!(process::wait_for_end(old, HANG));
    // Clients find the place where it listens in its lock.
    while env.daemon() != Some(daemon.pid()) {
        assert!(process::is_alive(daemon.pid()));
    }
    assert_eq!(env.result("return 2"), 2);
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["pid"], daemon.pid());
    assert_eq!(status["socket"], path.to_str().unwrap());
    env.mux(["stop"]).ok();
    assert!(daemon.end().success());
    assert!(path.exists());
}

#[test]
fn muxd_by_hand_leaves_a_socket_alone_on_which_systemd_listens() {
    let env = TestEnv::new();
    let socket = bound(&env);
    let mut muxd = env.command("muxd");
    let by_hand = Running::start(muxd.stdin(Stdio::null())).wait().ok();
    assert!(
        by_hand.stdout.contains("a service manager listens"),
        "{by_hand:?}"
    );
    assert!(env.dirs.socket().exists());
    // systemd has heard that one is wanted.
    assert!(socket.accept().is_ok());
    assert_eq!(env.daemon(), None);
}
