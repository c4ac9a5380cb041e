//! `mux --version`: this program, the engine that runs programs, which only the worker knows, and whether the daemon
//! is built with OpenTelemetry.
//!
//! Invariant: no daemon is asked, and none is started.

use std::{
    env, fs,
    io::Read as _,
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use mux_proto::{variables, version};

use super::variable;
use crate::render::Version;

/// They only have to print a line.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer than that line.
const MOST: u64 = 1024;

pub(crate) fn about() -> Version {
    Version {
        build: version::BUILD,
        contract: version::CONTRACT,
        engine: worker().and_then(said_by).as_deref().and_then(engine_in),
        otel: daemon().and_then(said_by).as_deref().and_then(otel_in),
    }
}

/// The worker that a daemon started by us would start.
fn worker() -> Option<PathBuf> {
    let file = format!("mux-worker{}", env::consts::EXE_SUFFIX);
    let beside = |program: PathBuf| program.with_file_name(&file);
    variable(variables::WORKER)
        .or_else(|| variable(variables::DAEMON).map(beside))
        .or_else(|| {
            let program = env::current_exe().ok()?;
            let program = fs::canonicalize(&program).unwrap_or(program);
            Some(beside(program))
        })
        .filter(|worker| worker.exists())
}

/// The daemon that would be started by us.
fn daemon() -> Option<PathBuf> {
    let file = format!("muxd{}", env::consts::EXE_SUFFIX);
    let own = || {
        let program = env::current_exe().ok()?;
        let program = fs::canonicalize(&program).unwrap_or(program);
        Some(program.with_file_name(file))
    };
    let daemon = variable(variables::DAEMON).or_else(own);
    daemon.filter(|daemon| daemon.exists())
}

/// What it says of itself.
fn said_by(program: PathBuf) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take()?;
    let (sender, line) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        if stdout.take(MOST).read_to_string(&mut text).is_ok() {
            // Nobody may wait for it any more.
            drop(sender.send(text));
        }
    });
    let said = line.recv_timeout(PATIENCE).ok();
    // It has ended, or never will.
    drop(child.kill());
    drop(child.wait());
    said
}

/// `mux-worker 0.1.0 (engine v8 15.0.245.4)` → `v8 15.0.245.4`.
fn engine_in(line: &str) -> Option<String> {
    let (_, rest) = line.trim().split_once("(engine ")?;
    let engine = rest.strip_suffix(')')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || " .-_+".contains(c);
    (!engine.is_empty() && engine.chars().all(plain)).then(|| engine.to_owned())
}

/// `muxd 0.1.0 (contract 5, otel)` → true.
fn otel_in(line: &str) -> Option<bool> {
    let (_, rest) = line.trim().split_once(" (contract ")?;
    let words = rest.strip_suffix(')')?;
    Some(words.split(", ").any(|word| word == "otel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_daemon_is_built_with_is_read_from_its_line() {
        assert_eq!(otel_in("muxd 0.1.0 (contract 5, otel)\n"), Some(true));
        assert_eq!(otel_in("muxd 0.1.0 (contract 5)"), Some(false));
        assert_eq!(otel_in("muxd"), None);
    }

    #[test]
    fn the_engine_is_read_from_the_workers_line_and_from_no_other() {
        let engine = |line| engine_in(line);
        assert_eq!(
            engine("mux-worker 0.1.0 (engine v8 15.0.245.4)\n").as_deref(),
            Some("v8 15.0.245.4")
        );
        assert_eq!(
            engine("mux-worker 0.1.0 (engine quickjs)").as_deref(),
            Some("quickjs")
        );
        for other in ["", "mux-worker 0.0.9", "(engine )", "(engine \u{1b}[2J)"] {
            assert_eq!(engine(other), None, "{other:?}");
        }
    }
}
