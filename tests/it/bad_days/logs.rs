//! Log rotation.

use std::{
    fs,
    path::{Path, PathBuf},
};

use mux_tests::TestEnv;

/// The size at which a log is rotated, in bytes.
const MOST: u64 = 10 << 20;

fn numbered(log: &Path, number: u32) -> PathBuf {
    PathBuf::from(format!("{}.{number}", log.display()))
}

/// Writes a log that the next line rotates, with rotated ones before it.
fn nearly_full(log: &Path) {
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let line = format!("{}\n", "x".repeat(1023));
    fs::write(log, line.repeat((MOST >> 10) as usize)).unwrap();
    for number in 1..5 {
        fs::write(numbered(log, number), format!("{number}\n")).unwrap();
    }
}

#[track_caller]
fn has_rotated(log: &Path) {
    assert_eq!(fs::metadata(numbered(log, 1)).unwrap().len(), MOST);
    for number in 2..5 {
        let before = fs::read_to_string(numbered(log, number)).unwrap();
        assert_eq!(before, format!("{}\n", number - 1));
    }
    assert!(!numbered(log, 5).exists(), "it is bounded");
    let now = fs::read_to_string(log).unwrap();
    assert!(now.ends_with('\n') && !now.contains("xxxx"), "{now}");
}

#[test]
fn logs_of_daemon_and_servers_rotate_between_lines() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.dirs.prepare().unwrap();
    let daemon = env.dirs.logs().join("muxd.log");
    let server = env.dirs.server_log("fix");
    nearly_full(&daemon);
    nearly_full(&server);
    env.mux(["call", "fix.stderr", "lines=100"]).ok();
    env.stop();
    has_rotated(&daemon);
    has_rotated(&server);
    assert!(env.log().contains("serving"));
    let said = fs::read_to_string(&server).unwrap();
    assert!(said.lines().count() >= 100, "{said}");
}

#[test]
fn restarted_daemon_appends_to_the_same_log() {
    let env = TestEnv::new();
    for starts in 1..4 {
        env.run("return 1").ok();
        env.stop();
        let log = fs::read_to_string(env.dirs.logs().join("muxd.log")).unwrap();
        assert_eq!(log.matches(": serving").count(), starts, "{log}");
        assert_eq!(
            fs::read_dir(env.dirs.logs()).unwrap().count(),
            2,
            "one file, and that of servers"
        );
    }
}
