//! `MUX_HOME` that cannot be used, and missing programs.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::Path,
};

use mux_tests::{CommandTranscript, Output, TestEnv, env::output, mux_snapshot};

#[test]
fn config_home_that_cannot_be_used_is_rejected_with_a_fix() {
    let env = TestEnv::new();
    let file = env.path("file");
    fs::write(&file, "").unwrap();
    let link = env.path("link");
    fs::create_dir(env.path("target")).unwrap();
    symlink(env.path("target"), &link).unwrap();
    let long = env.path(&"x".repeat(100));
    let mut transcript = CommandTranscript::default();
    for home in [
        long.as_path(),
        Path::new("relative/home"),
        &file,
        &file.join("home"),
        Path::new("/proc/mux"),
        &link,
    ] {
        refused(&env, home, &mut transcript);
    }
    mux_snapshot!(transcript, @r#"
    $ MUX_HOME=[HOME]/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: the socket path "[HOME]/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/run/muxd.sock" has 130 bytes and the system allows 103; set MUX_HOME to a shorter path

    $ MUX_HOME=relative/home mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: MUX_HOME must be an absolute path, not "relative/home"

    $ MUX_HOME=[HOME]/file mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: "[HOME]/file" is not a directory; remove it, or set MUX_HOME elsewhere

    $ MUX_HOME=[HOME]/file/home mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: cannot create "[HOME]/file/home": Not a directory (os error 20); set MUX_HOME to a directory that you can write

    $ MUX_HOME=/proc/mux mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: cannot create "/proc/mux": No such file or directory (os error 2); set MUX_HOME to a directory that you can write

    $ MUX_HOME=[HOME]/link mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: "[HOME]/link" is a symbolic link; name the directory itself in MUX_HOME
    "#);
    assert_eq!(fs::read_dir(env.path("target")).unwrap().count(), 0);
    assert!(!long.exists(), "nothing was made for a home that cannot be");
}

#[test]
fn config_home_that_others_can_write_is_rejected() {
    let env = TestEnv::new();
    let home = env.path("home");
    fs::create_dir(&home).unwrap();
    let mut transcript = CommandTranscript::default();
    for mode in [0o770, 0o707, 0o500] {
        fs::set_permissions(&home, fs::Permissions::from_mode(mode)).unwrap();
        refused(&env, &home, &mut transcript);
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    }
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    // The same applies to its subfolders.
    symlink("/tmp", home.join("state")).unwrap();
    refused(&env, &home, &mut transcript);
    mux_snapshot!(transcript, @r#"
    $ MUX_HOME=[HOME]/home mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: others can write to "[HOME]/home" (mode 770); run: chmod go-w "[HOME]/home"

    $ MUX_HOME=[HOME]/home mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: others can write to "[HOME]/home" (mode 707); run: chmod go-w "[HOME]/home"

    $ MUX_HOME=[HOME]/home mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: "[HOME]/home" is not writable by you; run: chmod u+rwx "[HOME]/home"

    $ MUX_HOME=[HOME]/home mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: "[HOME]/home/state" is a symbolic link; name the directory itself in MUX_HOME
    "#);
    fs::remove_file(home.join("state")).unwrap();
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    fs::create_dir(home.join("run")).unwrap();
    let mut transcript = CommandTranscript::default();
    for path in [home.join("run"), home.clone()] {
        chown(&path, Some(1234), None).unwrap();
        refused(&env, &home, &mut transcript);
        chown(&path, Some(0), None).unwrap();
    }
    mux_snapshot!(transcript, @r#"
    $ MUX_HOME=[HOME]/home mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: "[HOME]/home/run" belongs to user 1234, not to you (0); set MUX_HOME to a directory that you own

    $ MUX_HOME=[HOME]/home mux run -e 'return 1'
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: "[HOME]/home" belongs to user 1234, not to you (0); set MUX_HOME to a directory that you own
    "#);
}

#[test]
fn config_missing_daemon_or_worker_program_is_reported() {
    let env = TestEnv::new();
    let with = |name: &str, value: &str, args: &[&str]| {
        output(env.command("mux").env(name, value).args(args))
    };
    mux_snapshot!(with("MUX_DAEMON", "/no/such/muxd", &["servers"]), @r#"
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: cannot start "/no/such/muxd": No such file or directory (os error 2); set MUX_DAEMON to the muxd program
    "#);
    mux_snapshot!(with("MUX_DAEMON", "/bin/false", &["servers"]), @"
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: muxd did not start: it exited without a message; see `mux logs`
    ");
    mux_snapshot!(with("MUX_WORKER", "/no/such/worker", &["run", "-e", "return 1"]), @"
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: cannot start the worker /no/such/worker: No such file or directory (os error 2)
      hint: `mux-worker` must be in the same directory as `muxd`; see `mux logs`
    ");
    // A daemon without a worker still does everything else, and reports it.
    env.mux(["servers"]).ok();
    mux_snapshot!(env.mux(["status"]).ok().stderr, @"warning: cannot start the worker /no/such/worker: No such file or directory (os error 2)");
}

/// Checks that commands that start a daemon and commands that only look for one fail with the same error.
#[track_caller]
fn refused(env: &TestEnv, home: &Path, transcript: &mut CommandTranscript) {
    let mux =
        |args: &[&str]| -> Output { output(env.command("mux").env("MUX_HOME", home).args(args)) };
    let first = mux(&["run", "-e", "return 1"]);
    transcript.add(
        format!("MUX_HOME={} mux run -e 'return 1'", home.display()),
        &first,
    );
    for args in ["servers", "status", "stop"] {
        let output = mux(&[args]);
        assert_eq!(
            (output.code, &output.stdout, &output.stderr),
            (first.code, &first.stdout, &first.stderr)
        );
    }
    let document = mux(&["servers", "--json"]).fails(3, &[]).json();
    assert_eq!(document["error"]["kind"], "unavailable", "{document:#}");
}
