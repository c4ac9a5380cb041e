//! A daemon that listens on the socket that systemd passed.

use std::{
    fs::File,
    io::ErrorKind,
    os::unix::net::{UnixListener, UnixStream},
};

use mux_tests::{TestEnv, process};

use super::{activate, bound};

/// Asserts that no connection is pending, for which systemd would start another daemon.
#[track_caller]
fn nobody_waits_at(socket: &UnixListener) {
    let waiting = socket.accept().map(drop);
    assert_eq!(waiting.unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn clients_are_served_on_the_passed_socket_and_it_is_not_removed() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let socket = bound(&env);
    // This client connects before there is a daemon.
    let early = env.begin(["run", "-e", "return 'early'"]);
    let daemon = activate(&env, socket.try_clone().unwrap(), &[]);
    assert_eq!(early.wait().ok().stdout.trim(), "early");
    let sum = env.result("return (await mux.fix.add({ a: 2, b: 2 })).sum");
    assert_eq!(sum, 4);
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["pid"], daemon.pid());
    assert_eq!(status["started"]["by"], "systemd");
    assert_eq!(status["started"]["socket_passed"], true);
    assert!(status["started"]["watchdog_ms"].is_null());
    env.mux(["status"]).ok();
    let shown = env.mux(["status"]).ok().stdout;
    assert!(shown.contains("systemd"), "{shown}");

    env.mux(["stop"]).ok();
    assert!(daemon.end().success());
    assert!(env.dirs.socket().exists(), "it is not ours to remove");
    nobody_waits_at(&socket);
}

#[test]
fn commands_that_start_no_daemon_do_not_connect_to_the_socket_of_systemd() {
    let env = TestEnv::new();
    let socket = bound(&env);
    env.mux(["status"]).fails(3, &["no muxd is running"]);
    env.mux(["stop"]).ok();
    env.mux(["doctor"]).ok();
    env.mux(["service", "status"])
        .fails(3, &["no service is installed"]);
    nobody_waits_at(&socket);
    // The next daemon still listens on it.
    let daemon = activate(&env, socket.try_clone().unwrap(), &[]);
    assert_eq!(env.result("return 3"), 3);
    env.mux(["status"]).ok();
    env.mux(["stop"]).ok();
    assert!(daemon.end().success());
}

#[test]
fn client_during_shutdown_is_refused_and_starts_no_daemon() {
    let env = TestEnv::new();
    let socket = bound(&env);
    let daemon = activate(&env, socket.try_clone().unwrap(), &[]);
    let mut run = env.begin([
        "run",
        "-e",
        "console.log('begun'); await new Promise(r => setTimeout(r, 4000)); return 5",
    ]);
    run.wait_for("begun");
    let stop = env.begin(["stop"]);
    // From now on the daemon refuses new clients, while the run continues.
    let mut refused = 0;
    while process::is_alive(daemon.pid()) && refused < 3 {
        refused += i32::from(env.mux(["status"]).code == 3);
    }
    assert_eq!(refused, 3, "it said that it ends");
    assert_eq!(run.wait().ok().stdout.trim(), "5");
    stop.wait().ok();
    assert!(daemon.end().success());
    nobody_waits_at(&socket);
}

#[test]
fn idle_daemon_exits_and_systemd_keeps_listening() {
    let env = TestEnv::with_config("[daemon]\nidle_exit = \"200ms\"\n");
    let socket = bound(&env);
    let first = activate(&env, socket.try_clone().unwrap(), &[]);
    assert_eq!(env.result("return 1"), 1);
    assert!(first.end().success());
    drop(UnixStream::connect(env.dirs.socket()).unwrap());
    let second = activate(&env, socket.try_clone().unwrap(), &[]);
    assert_eq!(env.result("return 2"), 2);
    assert!(second.end().success());
}

#[test]
fn passed_descriptor_that_is_no_listener_is_refused() {
    let env = TestEnv::new();
    let (one, _other) = UnixStream::pair().unwrap();
    let output = activate(&env, one, &[]).wait();
    output.fails(1, &["cannot start as a service", "ListenStream="]);
    let file = File::open("/dev/null").unwrap();
    activate(&env, file, &[])
        .wait()
        .fails(1, &["ListenStream="]);
    // The user's next command still starts a daemon.
    assert_eq!(env.result("return 1"), 1);
}

#[test]
fn systemd_variables_of_another_process_are_ignored() {
    let env = TestEnv::new();
    let mut command = env.command("mux");
    command
        .args(["run", "-e", "return 1"])
        .env("LISTEN_FDS", "1")
        .env("LISTEN_PID", std::process::id().to_string())
        .env("SYSTEMD_EXEC_PID", std::process::id().to_string())
        .env("NOTIFY_SOCKET", "/nowhere")
        .env("WATCHDOG_USEC", "1000");
    mux_tests::env::output(&mut command).ok();
    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(status["started"]["by"], "client");
    assert_eq!(status["started"]["socket_passed"], false);
}
