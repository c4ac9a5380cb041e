//! `mux --version`: this program, and the engine that runs programs, which only the worker knows.
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

/// The worker only has to print a line.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer than that line.
const MOST: u64 = 1024;

pub(crate) fn about() -> Version {
    Version {
        build: version::BUILD,
        contract: version::CONTRACT,
        engine: worker().and_then(engine_of).as_deref().and_then(engine_in),
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

/// What it says of itself.
fn engine_of(worker: PathBuf) -> Option<String> {
    let mut child = Command::new(worker)
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

#[cfg(test)]
mod tests {
    use super::*;

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
