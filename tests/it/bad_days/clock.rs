//! A clock that jumps by a day, forward and back, while a daemon runs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use mux_tests::{Output, TestEnv, env::output, left_out};
use serde_json::Value;

use super::modes;

const DAY: i64 = 24 * 60 * 60;

/// Builds the library that is preloaded into the daemon to change its clock.
fn library(env: &TestEnv) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/clock/clock.c");
    let library = env.path("clock.so");
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]);
    let built = command.arg(&library).arg(source).output();
    let built = built.map_err(|error| format!("cc: {error}"))?;
    if built.status.success() {
        Ok(library)
    } else {
        Err(String::from_utf8_lossy(&built.stderr).into_owned())
    }
}

struct Clock<'a> {
    env: &'a TestEnv,
    library: PathBuf,
    file: PathBuf,
}

impl Clock<'_> {
    /// Replaces the file atomically, because the daemon may read it at any time.
    fn set(&self, seconds: i64) {
        let next = self.env.path("clock.next");
        fs::write(&next, seconds.to_string()).unwrap();
        fs::rename(next, &self.file).unwrap();
    }

    /// Runs `mux`, which has the right time. The daemon that it starts has not.
    fn mux(&self, args: &[&str]) -> Output {
        let mut command = self.env.command("mux");
        command
            .env("LD_PRELOAD", &self.library)
            .env("MUX_TEST_CLOCK", &self.file)
            .args(args);
        output(&mut command)
    }

    fn status(&self) -> Value {
        self.mux(&["--json", "status"]).ok().json()
    }
}

#[test]
fn clock_jump_loses_nothing_and_is_reported() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let library = match library(&env) {
        Ok(library) => library,
        Err(why) => return left_out("a clock that can be set", &why),
    };
    let clock = Clock {
        env: &env,
        library,
        file: env.path("clock"),
    };
    clock.set(0);
    clock.mux(&["call", "fix.echo", "text=before"]).ok();
    let pid = clock.status()["pid"].clone();
    assert_eq!(modes(&clock.status()), Vec::<&str>::new());
    let long = clock
        .mux(&["--json", "run", "-e", "return 'x'.repeat(600000)"])
        .ok()
        .json();
    let handle = long["stored"]["handle"].as_str().unwrap();

    for (seconds, output) in [
        (DAY, "forward by 1day"),
        (-DAY, "back by 1day"),
        (2 * DAY, "forward by 2days"),
        (0, ""),
    ] {
        clock.set(seconds);
        let status = clock.status();
        match output {
            "" => assert_eq!(modes(&status), Vec::<&str>::new(), "{status:#}"),
            output => {
                assert_eq!(modes(&status), ["clock"], "{status:#}");
                assert!(
                    status["degraded"].to_string().contains(output),
                    "{status:#}"
                );
            }
        }
        clock.mux(&["call", "fix.echo", "text=leapt"]).ok();
        // A result that is kept for an hour is still there.
        let kept = clock.mux(&["runs", "read", handle, "--length", "3"]).ok();
        assert!(kept.stdout.starts_with("\"xx"), "{seconds}: {kept:#?}");
        assert_eq!(clock.status()["pid"], pid);
    }
    env.stop();
    // No entry is lost, regardless of its timestamp.
    let calls = fs::read_dir(env.dirs.audit()).unwrap();
    let calls: String = calls
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap_or_default())
        .collect();
    assert_eq!(calls.matches("\"fix.echo\"").count(), 5, "{calls}");
}
