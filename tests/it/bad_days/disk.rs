//! A full disk, and a read-only one.

use mux_tests::{
    TestEnv,
    env::{binary, server},
};

use super::{Elsewhere, modes, until};

/// Mounts a disk of 12 MB as the home.
const SMALL: &str = "mv \"$1/config.toml\" /tmp/mux-config.$$; \
    mount -t tmpfs -o size=12m,mode=700 none \"$1\"; \
    mv /tmp/mux-config.$$ \"$1/config.toml\"";
const FILL: &str = "cat /dev/zero > \"$1/filler\" 2>/dev/null; true";
const LONG: &str = "return 'x'.repeat(600000)";

#[test]
fn full_disk_stops_writes_but_not_the_service() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let Some(there) = Elsewhere::or_told(&env, SMALL) else {
        return;
    };
    there.mux(&["call", "fix.echo", "text=before"]).ok();
    let pid = there.status()["pid"].clone();
    there.sh(FILL).ok();

    let output = there.status();
    assert!(modes(&output).contains(&"disk_full"), "{output:#}");
    there.mux(&["call", "fix.echo", "text=full"]).ok();
    there
        .mux(&["run", "-e", "return await mux.fix.echo({ text: 'x' })"])
        .ok();
    // Commands that need the disk report it.
    there
        .mux(&["run", "-e", LONG])
        .fails(0, &["could not be kept", "No space left on device"]);
    let file = env.path("run.mux.json");
    there
        .mux(&["run", "--record", file.to_str().unwrap(), "-e", "return 1"])
        .fails(3, &["No space left on device"]);
    until(
        || there.status(),
        "the history is incomplete",
        |status| status.to_string().contains("history.db cannot be written"),
    );
    // Eventually the log and the audit log cannot be written either.
    let output = until(
        || there.status(),
        "the log is lost",
        |status| modes(status).contains(&"log"),
    );
    let shown = there.mux(&["status"]).ok().stdout;
    let second = shown.lines().nth(1).unwrap();
    assert!(second.starts_with("degraded ("), "{shown}");
    there
        .mux(&["doctor"])
        .fails(1, &["is full", "fix: make room"]);
    assert_eq!(output["pid"], pid, "nothing has crashed");

    there.sh("rm \"$1/filler\"").ok();
    until(
        || there.status(),
        "all is well again",
        |status| {
            let all = modes(status);
            !all.contains(&"disk_full") && !all.contains(&"log") && !all.contains(&"audit")
        },
    );
    there.mux(&["run", "-e", LONG]).ok();
    assert_eq!(there.status()["pid"], pid);
    until(
        || there.status(),
        "the log tells of it",
        |_| there.log().contains("missing here: "),
    );
    for line in there.log().lines() {
        let is_whole = line.starts_with("... ") || line.starts_with("20") && line.contains('Z');
        assert!(is_whole, "torn: {line:?}");
    }
    there.mux(&["audit"]).fails(0, &["fix.echo"]);
}

#[test]
fn daemon_starts_on_a_full_disk() {
    // Not `env.fixture`, which writes a file at each start.
    let env = TestEnv::with_config(&server("fix", &binary("mux-fixture-server"), &[]));
    let Some(there) = Elsewhere::or_told(&env, SMALL) else {
        return;
    };
    there.mux(&["run", "-e", "return 1"]).ok();
    there.mux(&["stop"]).ok();
    there.sh(FILL).ok();
    there.mux(&["call", "fix.echo", "text=full"]).ok();
    let output = there.status();
    assert!(modes(&output).contains(&"disk_full"), "{output:#}");
    there.sh("rm \"$1/filler\"").ok();
    until(
        || there.status(),
        "all is well again",
        |status| !modes(status).contains(&"disk_full"),
    );
    there.mux(&["stop"]).ok();
}

#[test]
fn unwritable_home_is_reported_with_a_fix() {
    let env = TestEnv::new();
    let script = "mount -t tmpfs -o ro,mode=700 none \"$1\"";
    let Some(there) = Elsewhere::or_told(&env, script) else {
        return;
    };
    there
        .mux(&["run", "-e", "return 1"])
        .fails(3, &["Read-only file system", "MUX_HOME"]);
    there
        .mux(&["doctor"])
        .fails(1, &["Read-only file system", "MUX_HOME"]);
}

/// Makes a folder read-only. Files that are open for writing stay writable.
fn protect(there: &Elsewhere<'_>, name: &str) {
    let script =
        format!("mount --bind \"$1/{name}\" \"$1/{name}\"; mount -o remount,bind,ro \"$1/{name}\"");
    there.sh(&script).ok();
}

fn open(there: &Elsewhere<'_>, name: &str) {
    let script = format!("mount -o remount,bind,rw \"$1/{name}\"");
    there.sh(&script).ok();
}

#[test]
fn read_only_cache_only_disables_caching() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let Some(there) = Elsewhere::or_told(&env, "mkdir -m 700 \"$1/cache\"") else {
        return;
    };
    protect(&there, "cache");
    there.mux(&["call", "fix.echo", "text=hi"]).ok();
    there
        .mux(&["run", "-e", "return await mux.fix.echo({ text: 'x' })"])
        .ok();
    there
        .mux(&["run", "-e", LONG])
        .fails(0, &["could not be kept", "Read-only file system"]);
    let output = there.status();
    let all = modes(&output);
    assert!(
        all.contains(&"read_only") && all.contains(&"cache"),
        "{output:#}"
    );
    there
        .mux(&["doctor"])
        .fails(1, &["cannot be written", "fix: make "]);

    open(&there, "cache");
    let output = there.status();
    assert!(!modes(&output).contains(&"read_only"), "{output:#}");
    let said = there.mux(&["run", "-e", LONG]).ok();
    assert!(!said.stderr.contains("could not be kept"), "{said:#?}");
    there.mux(&["restart"]).ok();
    until(
        || there.status(),
        "it is opened again",
        |status| modes(status).is_empty(),
    );
}

#[test]
fn read_only_state_is_reported_and_calls_are_served() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let Some(there) = Elsewhere::or_told(&env, "mkdir -m 700 \"$1/state\"") else {
        return;
    };
    there.mux(&["call", "fix.echo", "text=before"]).ok();
    protect(&there, "state");
    there.mux(&["call", "fix.echo", "text=hi"]).ok();
    let output = there.status();
    assert!(modes(&output).contains(&"read_only"), "{output:#}");
    // A daemon that is started then also works: its lock files exist.
    there.mux(&["stop"]).ok();
    there.mux(&["call", "fix.echo", "text=cold"]).ok();
    until(
        || there.status(),
        "what is lost is told",
        |status| {
            let all = modes(status);
            all.contains(&"read_only") && all.contains(&"audit")
        },
    );
    open(&there, "state");
    there.mux(&["call", "fix.echo", "text=again"]).ok();
    until(
        || there.status(),
        "all is well again",
        |status| modes(status).is_empty(),
    );
}
