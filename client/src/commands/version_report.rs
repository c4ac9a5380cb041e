//! `mux --version`: the version of this program, the engine that the worker reports, and whether the daemon is built
//! with OpenTelemetry.
//!
//! Invariant: no running daemon is asked, and none is started.

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

use super::env_path;
use crate::render::VersionInfo;

/// How long `--version` of the worker or the daemon may take.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes read of the version line.
const MAX_VERSION_BYTES: u64 = 1024;

pub(crate) fn version_report() -> VersionInfo {
    VersionInfo {
        build: version::BUILD,
        contract: version::CONTRACT,
        engine: worker_path()
            .and_then(version_output)
            .as_deref()
            .and_then(parse_engine),
        otel: muxd_path()
            .and_then(version_output)
            .as_deref()
            .and_then(parse_otel),
    }
}

/// The worker that a daemon started by this program would use.
fn worker_path() -> Option<PathBuf> {
    let file = format!("mux-worker{}", env::consts::EXE_SUFFIX);
    let beside = |program: PathBuf| program.with_file_name(&file);
    env_path(variables::WORKER)
        .or_else(|| env_path(variables::DAEMON).map(beside))
        .or_else(|| {
            let program = env::current_exe().ok()?;
            let program = fs::canonicalize(&program).unwrap_or(program);
            Some(beside(program))
        })
        .filter(|worker| worker.exists())
}

/// The daemon that this program would start.
fn muxd_path() -> Option<PathBuf> {
    let file = format!("muxd{}", env::consts::EXE_SUFFIX);
    let own = || {
        let program = env::current_exe().ok()?;
        let program = fs::canonicalize(&program).unwrap_or(program);
        Some(program.with_file_name(file))
    };
    let daemon = env_path(variables::DAEMON).or_else(own);
    daemon.filter(|daemon| daemon.exists())
}

/// The output of `PROGRAM --version`; `None` if it fails or takes too long.
fn version_output(program: PathBuf) -> Option<String> {
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
        if stdout
            .take(MAX_VERSION_BYTES)
            .read_to_string(&mut text)
            .is_ok()
        {
            // The receiver may have timed out.
            drop(sender.send(text));
        }
    });
    let said = line.recv_timeout(VERSION_TIMEOUT).ok();
    // It has exited, or it hangs.
    drop(child.kill());
    drop(child.wait());
    said
}

/// `mux-worker 0.1.0 (engine v8 15.0.245.4)` → `v8 15.0.245.4`.
fn parse_engine(line: &str) -> Option<String> {
    let (_, rest) = line.trim().split_once("(engine ")?;
    let engine = rest.strip_suffix(')')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || " .-_+".contains(c);
    (!engine.is_empty() && engine.chars().all(plain)).then(|| engine.to_owned())
}

/// `muxd 0.1.0 (contract 5, otel)` → true.
fn parse_otel(line: &str) -> Option<bool> {
    let (_, rest) = line.trim().split_once(" (contract ")?;
    let words = rest.strip_suffix(')')?;
    Some(words.split(", ").any(|word| word == "otel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn otel_support_is_parsed_from_the_version_line() {
        assert_eq!(parse_otel("muxd 0.1.0 (contract 5, otel)\n"), Some(true));
        assert_eq!(parse_otel("muxd 0.1.0 (contract 5)"), Some(false));
        assert_eq!(parse_otel("muxd"), None);
    }

    #[test]
    fn engine_is_parsed_only_from_a_worker_version_line() {
        let engine = |line| parse_engine(line);
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
