//! Degraded operation: no free descriptors, a full disk, no forks, no home, a clock that jumps, a suspended process,
//! and systems that lack a layer of the sandboxes.
//!
//! Invariant: no process crashes or hangs, errors name a fix, and `status` lists a degraded mode exactly as long as
//! its cause lasts.

mod clock;
mod descriptors;
mod disk;
mod doctor;
mod forks;
mod homeless;
mod logs;
mod screen;
mod stopped;
#[cfg(target_os = "linux")]
mod systems;
mod watches;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use mux_tests::{Output, Running, TestEnv, env::output, left_out};
use serde_json::Value;

/// The degraded modes in a status.
fn modes(status: &Value) -> Vec<&str> {
    let degraded = status["degraded"].as_array();
    let degraded = degraded.into_iter().flatten();
    degraded
        .filter_map(|strait| strait["mode"].as_str())
        .collect()
}

/// Requests the status until it satisfies `is_so`. Fails after 600 requests.
#[track_caller]
fn until(mut status: impl FnMut() -> Value, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    for _ in 0..600 {
        last = status();
        if is_so(&last) {
            return last;
        }
    }
    panic!("{what}: {last:#}");
}

/// A private mount namespace with a home, whose disks can be full or read-only even for root.
struct Elsewhere<'a> {
    env: &'a TestEnv,
    holder: Running,
}

impl<'a> Elsewhere<'a> {
    /// Creates the namespace and runs `script` in it, with the home as `$1`. Fails if the system does not permit it.
    fn new(env: &'a TestEnv, script: &str) -> Result<Self, String> {
        let script = format!("set -e; {script}; echo ready; read end");
        let mut command = Command::new("unshare");
        if nix::unistd::geteuid().is_root() {
            command.arg("-m")
        } else {
            command.arg("-rm")
        };
        command
            .args(["/bin/sh", "-c", &script, "sh"])
            .arg(env.home());
        let mut holder = Running::start_as_is(command.stdin(Stdio::piped()));
        match holder.next_line_of_output().trim() {
            "ready" => Ok(Self { env, holder }),
            _ => Err(holder.wait().stderr.trim().to_owned()),
        }
    }

    /// Creates the namespace, or reports the test as left out.
    fn or_told(env: &'a TestEnv, script: &str) -> Option<Self> {
        match Self::new(env, script) {
            Ok(elsewhere) => Some(elsewhere),
            Err(why) => {
                left_out("a mount namespace", &why);
                None
            }
        }
    }

    /// The path of a file in the namespace, as seen from outside.
    fn path(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.pid()));
        root.join(path.strip_prefix("/").unwrap())
    }

    fn command(&self, inner: &Command) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.pid().to_string(), "--mount"]);
        if !nix::unistd::geteuid().is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command
            .arg("--")
            .arg(inner.get_program())
            .args(inner.get_args());
        command.env_clear();
        let passed = inner.get_envs();
        command.envs(passed.filter_map(|(name, value)| Some((name, value?))));
        command
    }

    fn mux(&self, args: &[&str]) -> Output {
        let mut inner = self.env.command("mux");
        inner.args(args);
        output(&mut self.command(&inner))
    }

    /// Runs a script in the namespace, with the home as `$1`.
    fn sh(&self, script: &str) -> Output {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script, "sh"]).arg(self.env.home());
        shell.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        output(&mut self.command(&shell))
    }

    fn status(&self) -> Value {
        self.mux(&["--json", "status"]).ok().json()
    }

    /// The whole log of the daemon.
    fn log(&self) -> String {
        fs::read_to_string(self.path(&self.env.dirs.logs().join("muxd.log"))).unwrap()
    }
}

impl Drop for Elsewhere<'_> {
    fn drop(&mut self) {
        // `TestEnv` cannot find this daemon from outside.
        drop(self.mux(&["stop", "--now"]));
    }
}
