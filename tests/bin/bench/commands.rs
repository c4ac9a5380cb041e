//! Whole commands, and the daemon behind them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use mux_tests::TestEnv;
use serde_json::Value;

use super::figures::{Samples, fact, millis, row};

/// A `MUX_HOME` for the bench, and the programs.
pub(crate) struct Place {
    pub(crate) home: tempfile::TempDir,
    pub(crate) daemon: PathBuf,
    pub(crate) fixture: PathBuf,
    /// A real server and its arguments.
    pub(crate) real: (PathBuf, Vec<String>),
    mux: PathBuf,
    /// The user's own shell says which environment servers get, however long that takes.
    own_shell: bool,
}

/// Runs a program in a new home and waits for the snapshot of the guest's realm, which the daemon then makes once.
/// Workers that are already running do without it: stop the daemon afterwards.
pub(crate) fn wait_for_snapshot(
    home: &Path,
    run: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    const PATIENCE: usize = 1_000;
    run()?;
    let folder = home.join("cache").join("snapshots");
    for _ in 0..PATIENCE {
        if fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some()) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    anyhow::bail!("no snapshot in {}", folder.display())
}

/// Starts the daemon of this environment, whose workers all use the snapshot.
pub(crate) fn start_with_snapshot(env: &TestEnv) -> anyhow::Result<()> {
    wait_for_snapshot(env.home(), || {
        env.run("return 1").ok();
        Ok(())
    })?;
    env.stop();
    env.mux(["call", "fix.pid"]).ok();
    Ok(())
}

impl Place {
    pub(crate) fn new(binaries: &Path, server: &[String]) -> anyhow::Result<Self> {
        let (program, arguments) = server.split_first().context("--server names a program")?;
        let home = tempfile::Builder::new()
            .prefix("mux-bench-")
            .tempdir_in("/tmp")?;
        let fixture = binaries.join("mux-fixture-server");
        let config = format!(
            "[servers.fix]\ncommand = {fixture:?}\n[servers.every]\ncommand = {program:?}\nargs = {arguments:?}\n"
        );
        fs::write(home.path().join("config.toml"), config)?;
        let place = Self {
            home,
            daemon: binaries.join("muxd"),
            fixture,
            real: (PathBuf::from(program), arguments.to_vec()),
            mux: binaries.join("mux"),
            own_shell: true,
        };
        wait_for_snapshot(place.home.path(), || {
            place.mux(&["run", "-e", "return 1"]).map(drop)
        })?;
        place.mux(&["stop"])?;
        Ok(place)
    }

    /// Another one with this configuration, and with a login shell that reads no profile of the user's.
    pub(crate) fn beside(&self, config: &str) -> anyhow::Result<Self> {
        let home = tempfile::Builder::new()
            .prefix("mux-bench-")
            .tempdir_in("/tmp")?;
        fs::write(home.path().join("config.toml"), config)?;
        Ok(Self {
            home,
            daemon: self.daemon.clone(),
            fixture: self.fixture.clone(),
            real: self.real.clone(),
            mux: self.mux.clone(),
            own_shell: false,
        })
    }

    /// The daemon that runs there.
    pub(crate) fn pid(&self) -> anyhow::Result<i32> {
        let status: Value = serde_json::from_str(&self.mux(&["--json", "status"])?)?;
        let pid = status["pid"].as_i64().context("no pid")?;
        Ok(i32::try_from(pid)?)
    }

    pub(crate) fn mux(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(&self.mux);
        command
            .args(args)
            .env("MUX_HOME", self.home.path())
            .stdin(Stdio::null());
        if !self.own_shell {
            command
                .env("SHELL", "/bin/sh")
                .env("HOME", self.home.path());
        }
        let output = command.output()?;
        ensure!(
            output.status.success(),
            "mux {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A daemon that has already exited is what we want.
        drop(self.mux(&["stop", "--now"]));
    }
}

pub(crate) fn measure(place: &Place, rounds: usize) -> anyhow::Result<()> {
    let mut warm = Samples::default();
    let mut status = Samples::default();
    let mut node = Samples::default();
    place.mux(&["run", "-e", "return 1"])?;
    for _ in 0..rounds {
        warm.time(|| place.mux(&["run", "-e", "return 1"]))?;
        status.time(|| place.mux(&["status"]))?;
    }
    for _ in 0..(rounds / 4).max(5) {
        node.time(|| {
            Command::new("node")
                .args(["-e", "1"])
                .stdin(Stdio::null())
                .status()
        })?;
    }
    row("mux run -e 'return 1', warm (goal 10 and 30 ms)", &warm);
    row("mux status", &status);
    row("node -e 1", &node);
    let ratio = node.median().as_secs_f64() / warm.median().as_secs_f64();
    fact("ratio node / mux run at p50", &format!("{ratio:.1}"));
    Ok(())
}

pub(crate) fn measure_daemon(place: &Place) -> anyhow::Result<()> {
    let mut first = Samples::default();
    let mut program = Samples::default();
    for _ in 0..10 {
        place.mux(&["stop", "--now"])?;
        first.time(|| place.mux(&["servers"]))?;
        place.mux(&["stop", "--now"])?;
        program.time(|| place.mux(&["run", "-e", "return 1"]))?;
    }
    row("cold start to the first answer (mux servers)", &first);
    row("cold start to the first result (mux run)", &program);
    let status: Value = serde_json::from_str(&place.mux(&["--json", "status"])?)?;
    let pid = status["pid"].as_u64().context("no pid")?;
    fact("daemon, idle: RSS", &rss(pid)?);
    for child in children(pid)? {
        let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
        fact(&format!("{}: RSS", name.trim()), &rss(child)?);
    }
    let log = newest_log(place.home.path())?;
    for line in log
        .lines()
        .filter(|line| line.contains("worker ready"))
        .take(2)
    {
        fact(
            "worker, from spawn to ready",
            line.rsplit("took=").next().unwrap_or_default(),
        );
    }
    let began = Instant::now();
    place.mux(&["stop"])?;
    fact("stop, idle", &format!("{:.1} ms", millis(began.elapsed())));
    Ok(())
}

fn newest_log(home: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    for entry in fs::read_dir(home.join("state/log"))? {
        let path = entry?.path();
        if path.is_file() {
            text.push_str(&fs::read_to_string(path)?);
        }
    }
    Ok(text)
}

fn rss(pid: u64) -> anyhow::Result<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find(|l| l.starts_with("VmRSS:"))
        .context("no VmRSS")?;
    let kib: f64 = line
        .split_whitespace()
        .nth(1)
        .context("no figure")?
        .parse()?;
    Ok(format!("{:.1} MiB", kib / 1024.0))
}

fn children(pid: u64) -> anyhow::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
        let children = fs::read_to_string(entry?.path().join("children")).unwrap_or_default();
        found.extend(
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse::<u64>().ok()),
        );
    }
    Ok(found)
}
