//! Both a client and systemd start a daemon: one of the two remains.

use std::{os::unix::net::UnixListener, process::Stdio};

use mux_tests::{Running, TestEnv, process};

use super::{HANG, activate, bound};

#[test]
fn daemon_whose_socket_path_systemd_took_exits_before_the_next_one_serves() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return await mux.fix.pid({})");
    let old = env.daemon().unwrap();
    // systemd removes the socket of the daemon, and listens there itself.
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
fn daemon_on_another_socket_makes_room_for_the_activated_one() {
    let env = TestEnv::new();
    env.result("return 1");
    let old = env.daemon().unwrap();
    let path = env.path("passed.sock");
    let socket = UnixListener::bind(&path).unwrap();
    let daemon = activate(&env, socket, &[]);
    assert!(process::wait_for_end(old, HANG));
    // Clients read the path of the socket from the instance lock.
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
fn muxd_started_by_hand_does_not_take_the_socket_of_systemd() {
    let env = TestEnv::new();
    let socket = bound(&env);
    let mut muxd = env.command("muxd");
    let by_hand = Running::start(muxd.stdin(Stdio::null())).wait().ok();
    assert!(
        by_hand.stdout.contains("a service manager listens"),
        "{by_hand:?}"
    );
    assert!(env.dirs.socket().exists());
    // The connection makes systemd start a daemon.
    assert!(socket.accept().is_ok());
    assert_eq!(env.daemon(), None);
}
