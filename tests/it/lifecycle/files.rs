//! Files in the daemon's directories: leftovers of earlier daemons, replaced programs, and permissions.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::Path,
    process::Command,
};

use mux_tests::{Running, TestEnv, process};

use super::PROMISE;

#[test]
fn leftovers_of_an_earlier_daemon_do_not_prevent_a_start() {
    // A pid that no process has: the largest on Linux is 2^22.
    let dead = format!("{{\"pid\":{},\"socket\":\"/nowhere\"}}\n", 1 << 23);
    let mine = format!("{{\"pid\":{}}}", std::process::id());
    let rubbish: &[u8] = b"\0\xff not JSON \n\n{\"pid\":\"many\"}";
    for lock in [dead.as_bytes(), mine.as_bytes(), rubbish, b""] {
        let env = TestEnv::with_fixtures(&[("fix", &[])]);
        env.dirs.prepare().unwrap();
        for file in [
            env.dirs.instance_lock(),
            env.dirs.startup_lock(),
            env.dirs.keeper_lock(),
            env.dirs.socket(),
        ] {
            fs::write(file, lock).unwrap();
        }
        assert_eq!(
            env.result("return (await mux.fix.add({ a: 2, b: 2 })).sum"),
            4
        );
        let daemon = env.mux(["--json", "status"]).ok().json()["pid"].as_i64();
        assert_eq!(env.daemon().map(i64::from), daemon);
        assert!(
            fs::metadata(env.dirs.socket())
                .unwrap()
                .file_type()
                .is_socket()
        );
    }
}

#[test]
fn socket_of_dead_daemon_refuses_connections_and_is_replaced() {
    let env = TestEnv::new();
    env.result("return 1");
    let old = env.daemon().unwrap();
    process::kill(old);
    assert!(process::wait_for_end(old, PROMISE));
    assert!(env.dirs.socket().exists());
    env.mux(["status"]).fails(3, &["no muxd is running"]);
    assert!(
        env.dirs.socket().exists(),
        "only the holder of the lock removes it"
    );
    assert_eq!(env.result("return 2"), 2);
}

#[test]
fn error_names_the_socket_path_that_cannot_be_bound() {
    let env = TestEnv::new();
    env.dirs.prepare().unwrap();
    fs::create_dir(env.dirs.socket()).unwrap();
    env.mux(["run", "-e", "return 1"])
        .fails(3, &["cannot listen on", "muxd.sock"]);
}

#[test]
fn missing_daemon_program_is_named_with_a_hint() {
    let env = TestEnv::new();
    let mut command = env.command("mux");
    command.args(["run", "-e", "return 1"]);
    let output = mux_tests::env::output(command.env("MUX_DAEMON", "/dev/null/muxd"));
    output.fails(3, &["/dev/null/muxd", "MUX_DAEMON"]);
    // A program that is not muxd.
    let output = mux_tests::env::output(command.env("MUX_DAEMON", "/bin/true"));
    output.fails(3, &["did not start"]);
}

#[test]
fn daemon_with_replaced_executable_starts_the_keeper_from_its_own_build() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let muxd = env.path("muxd");
    fs::copy(mux_tests::env::binary("muxd"), &muxd).unwrap();
    let mut command = env.command("mux");
    command.args(["run", "-e", "return await mux.fix.pid({})"]);
    command
        .env("MUX_DAEMON", &muxd)
        .env("MUX_WORKER", mux_tests::env::binary("mux-worker"));
    mux_tests::env::output(&mut command).ok();
    let daemon = env.daemon().unwrap();

    fs::remove_file(&muxd).unwrap();
    fs::write(&muxd, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&muxd, fs::Permissions::from_mode(0o755)).unwrap();
    let keeper = process::descendants(daemon)
        .into_iter()
        .find(|pid| process::command_line(*pid).starts_with("muxd keeper"));
    let old = process::Tree::of(keeper.unwrap());
    process::kill(keeper.unwrap());
    assert!(old.left_after(PROMISE).is_empty());
    env.result("return await mux.fix.pid({})");
    assert_eq!(env.daemon(), Some(daemon));
    assert_eq!(env.starts("fix").len(), 2);
}

#[test]
fn directories_and_files_are_private_with_any_umask() {
    let env = TestEnv::new();
    let home = env.path("home");
    let mux = env.command("mux");
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\""]);
    command
        .arg(mux.get_program())
        .args(["run", "-e", "return 1"]);
    command.env_clear().envs(
        mux.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command.env("MUX_HOME", &home);
    Running::start(&mut command).wait().ok();

    let mode = |path: &str| fs::metadata(home.join(path)).unwrap().permissions().mode() & 0o777;
    for directory in [
        "",
        "state",
        "state/log",
        "state/log/servers",
        "cache",
        "run",
    ] {
        assert_eq!(mode(directory), 0o700, "{directory:?}");
    }
    for file in [
        "run/muxd.sock",
        "state/muxd.lock",
        "state/startup.lock",
        "state/keeper.lock",
    ] {
        assert_eq!(mode(file), 0o600, "{file:?}");
    }
    stop(&env, &home);
}

/// Stops the daemon of a home other than that of `env`.
fn stop(env: &TestEnv, home: &Path) {
    let mut command = env.command("mux");
    mux_tests::env::output(command.args(["stop", "--now"]).env("MUX_HOME", home)).ok();
}
