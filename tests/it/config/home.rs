//! `MUX_HOME` that cannot be used, and missing programs.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::Path,
};

use mux_tests::{Output, TestEnv, env::output};

#[test]
fn config_home_that_cannot_be_used_is_rejected_with_a_fix() {
    let env = TestEnv::new();
    let file = env.path("file");
    fs::write(&file, "").unwrap();
    let link = env.path("link");
    fs::create_dir(env.path("target")).unwrap();
    symlink(env.path("target"), &link).unwrap();
    let long = env.path(&"x".repeat(100));
    for (home, parts) in [
        (
            long.as_path(),
            &["the socket path", "103", "set MUX_HOME to a shorter path"][..],
        ),
        (
            Path::new("relative/home"),
            &["must be an absolute path", "relative/home"],
        ),
        (&file, &["is not a directory", "set MUX_HOME elsewhere"]),
        (
            &file.join("home"),
            &[
                "cannot create",
                "set MUX_HOME to a directory that you can write",
            ],
        ),
        (Path::new("/proc/mux"), &["cannot create", "/proc/mux"]),
        (&link, &["is a symbolic link", "name the directory itself"]),
    ] {
        refused(&env, home, parts);
    }
    assert_eq!(fs::read_dir(env.path("target")).unwrap().count(), 0);
    assert!(!long.exists(), "nothing was made for a home that cannot be");
}

#[test]
fn config_home_that_others_can_write_is_rejected() {
    let env = TestEnv::new();
    let home = env.path("home");
    fs::create_dir(&home).unwrap();
    for (mode, parts) in [
        (0o770, &["others can write", "mode 770", "chmod go-w"][..]),
        (0o707, &["others can write", "mode 707"]),
        (0o500, &["is not writable for you", "chmod u+rwx"]),
    ] {
        fs::set_permissions(&home, fs::Permissions::from_mode(mode)).unwrap();
        refused(&env, &home, parts);
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    }
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    // The same applies to its subfolders.
    symlink("/tmp", home.join("state")).unwrap();
    refused(&env, &home, &["/home/state", "is a symbolic link"]);
    fs::remove_file(home.join("state")).unwrap();
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    fs::create_dir(home.join("run")).unwrap();
    for path in [home.join("run"), home.clone()] {
        chown(&path, Some(1234), None).unwrap();
        refused(
            &env,
            &home,
            &[
                "belongs to user 1234, not to you (0)",
                "a directory of your own",
            ],
        );
        chown(&path, Some(0), None).unwrap();
    }
}

#[test]
fn config_missing_daemon_or_worker_program_is_reported() {
    let env = TestEnv::new();
    let with = |name: &str, value: &str, args: &[&str]| {
        output(env.command("mux").env(name, value).args(args))
    };
    with("MUX_DAEMON", "/no/such/muxd", &["servers"])
        .fails(3, &["cannot start \"/no/such/muxd\"", "MUX_DAEMON"]);
    with("MUX_DAEMON", "/bin/false", &["servers"]).fails(3, &["muxd did not start", "mux logs"]);
    with("MUX_WORKER", "/no/such/worker", &["run", "-e", "return 1"]).fails(
        3,
        &[
            "error[unavailable]",
            "/no/such/worker",
            "must be in the same directory as `muxd`",
        ],
    );
    // A daemon without a worker still does everything else, and reports it.
    env.mux(["servers"]).ok();
    let status = env.mux(["status"]).ok();
    assert!(
        status
            .stderr
            .contains("cannot start the worker /no/such/worker"),
        "{status:#?}"
    );
}

/// Checks that commands that start a daemon and commands that only look for one fail with these texts.
#[track_caller]
fn refused(env: &TestEnv, home: &Path, parts: &[&str]) {
    let mux =
        |args: &[&str]| -> Output { output(env.command("mux").env("MUX_HOME", home).args(args)) };
    for args in [
        &["run", "-e", "return 1"][..],
        &["servers"],
        &["status"],
        &["stop"],
    ] {
        let output = mux(args).fails(3, parts);
        assert_eq!(output.stdout, "", "{output:#?}");
    }
    let document = mux(&["servers", "--json"]).fails(3, &[]).json();
    assert_eq!(document["error"]["kind"], "unavailable", "{document:#}");
}
