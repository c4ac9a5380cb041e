//! A system that cannot start more processes.
//!
//! The limit does not apply to root, so as root the tests run as another user.

use std::{os::unix::fs::chown, path::Path, process::Command};

use mux_tests::{
    Output, TestEnv,
    env::{binary, output},
    left_out, process,
};
use nix::unistd::geteuid;
use serde_json::Value;

use super::{modes, until};

/// A user id without other processes.
const SOMEBODY: u32 = 60_997;

struct Bounded<'a>(&'a TestEnv);

impl<'a> Bounded<'a> {
    fn new(env: &'a TestEnv) -> Result<Self, String> {
        let this = Self(env);
        if geteuid().is_root() {
            for path in [env.home(), &env.dirs.config_file()] {
                chown(path, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
            }
            // The programs may be in a folder that only root can read.
            let seen = output(
                this.command(binary("mux").as_path(), &["--help"])
                    .stdin(std::process::Stdio::null()),
            );
            if seen.code != 0 {
                return Err(seen.stderr);
            }
        }
        match output(&mut Command::new("prlimit")).code {
            0 => Ok(this),
            _ => Err("there is no prlimit".into()),
        }
    }

    fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mux = self.0.command("mux");
        let mut command = if geteuid().is_root() {
            let mut command = Command::new("setpriv");
            let id = SOMEBODY.to_string();
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
            command
                .args(["--inh-caps=-all", "--bounding-set=-all"])
                .arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(args).env_clear().current_dir("/");
        let passed = mux.get_envs();
        command.envs(passed.filter_map(|(name, value)| Some((name, value?))));
        command
    }

    fn mux(&self, args: &[&str]) -> Output {
        output(&mut self.command(&binary("mux"), args))
    }

    fn status(&self) -> Value {
        self.mux(&["--json", "status"]).ok().json()
    }

    /// Limits the number of processes for the daemon and its descendants.
    fn limit(&self, daemon: i32, processes: &str) {
        let mut all = process::descendants(daemon);
        all.push(daemon);
        for pid in all {
            let args = ["--pid", &pid.to_string(), &format!("--nproc={processes}:")];
            // The process may have ended.
            drop(output(&mut self.command(Path::new("prlimit"), &args)));
        }
    }
}

impl Drop for Bounded<'_> {
    fn drop(&mut self) {
        drop(self.mux(&["stop", "--now"]));
    }
}

#[test]
fn without_forks_running_processes_serve_and_starts_fail_with_a_reason() {
    let env = TestEnv::with_fixtures(&[("one", &[]), ("two", &[])]);
    let bounded = match Bounded::new(&env) {
        Ok(bounded) => bounded,
        Err(why) => return left_out("a limit of processes", &why),
    };
    bounded.mux(&["call", "one.echo", "text=hi"]).ok();
    let daemon = env.daemon().unwrap();
    bounded.limit(daemon, "0");

    bounded.mux(&["call", "one.echo", "text=hi"]).ok();
    bounded
        .mux(&["call", "two.echo", "text=hi"])
        .fails(3, &["Resource temporarily unavailable", "ulimit -u"]);
    // Killed workers cannot be replaced.
    for _ in 0..4 {
        let run = bounded.mux(&["run", "--timeout", "1s", "-e", "for (;;);"]);
        assert!([3, 124].contains(&run.code), "{run:#?}");
    }
    let output = until(
        || bounded.status(),
        "it is told",
        |status| modes(status).contains(&"workers"),
    );
    assert!(
        output["degraded"].to_string().contains("ulimit -u"),
        "{output:#}"
    );
    bounded
        .mux(&["run", "-e", "return 1"])
        .fails(3, &["Resource temporarily unavailable", "ulimit -u"]);
    bounded
        .mux(&["doctor"])
        .fails(1, &["cannot start the worker", "ulimit -u"]);

    bounded.limit(daemon, "90000");
    bounded.mux(&["call", "two.echo", "text=hi"]).ok();
    let run = (0..100)
        .map(|_| bounded.mux(&["run", "-e", "return 1"]))
        .find(|run| run.code == 0);
    assert!(run.is_some(), "workers start again");
    until(
        || bounded.status(),
        "all is well again",
        |status| modes(status).is_empty(),
    );
    assert_eq!(env.daemon(), Some(daemon));
}

#[test]
fn start_without_threads_fails_with_the_reason() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let bounded = match Bounded::new(&env) {
        Ok(bounded) if geteuid().is_root() => bounded,
        // A normal user's other processes also count.
        Ok(_) => {
            return left_out(
                "a start without threads",
                "only root can play a user without processes",
            );
        }
        Err(why) => return left_out("a limit of processes", &why),
    };
    for most in ["2", "4", "6", "8", "10", "12", "14"] {
        let limit = format!("--nproc={most}:{most}");
        let mux = binary("mux");
        let args = [&limit, mux.to_str().unwrap(), "run", "-e", "return 1"];
        let said = output(&mut bounded.command(Path::new("prlimit"), &args));
        assert!(!said.stderr.contains("panicked"), "{most}: {said:#?}");
        let shown = ["ulimit -u", "Resource temporarily unavailable", "worker"];
        assert!(
            said.code == 0 || said.code == 3 && shown.iter().any(|part| said.stderr.contains(part)),
            "{most}: {said:#?}"
        );
        bounded.mux(&["stop", "--now"]);
    }
}
