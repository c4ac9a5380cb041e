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

use mux_proto::{
    variables,
    version::{self, ProgramVersion},
};

use super::env_path;
use crate::render::VersionInfo;

/// How long `--version` of the worker or the daemon may take.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes read of a program's version.
const MAX_VERSION_BYTES: u64 = 1024;

pub(crate) fn version_report() -> VersionInfo {
    VersionInfo {
        build: version::BUILD,
        contract: version::CONTRACT,
        engine: worker_path().and_then(program_version).and_then(engine_of),
        otel: muxd_path()
            .and_then(program_version)
            .and_then(|version| version.otel),
    }
}

/// The worker that a daemon started here would start.
fn worker_path() -> Option<PathBuf> {
    let file = format!("mux-worker{}", env::consts::EXE_SUFFIX);
    env_path(variables::WORKER).or_else(|| Some(muxd_path()?.with_file_name(file)))
}

/// The daemon that a command started here would start.
fn muxd_path() -> Option<PathBuf> {
    let file = format!("muxd{}", env::consts::EXE_SUFFIX);
    env_path(variables::DAEMON).or_else(|| {
        let program = env::current_exe().ok()?;
        let program = fs::canonicalize(&program).unwrap_or(program);
        Some(program.with_file_name(file))
    })
}

/// The output of `PROGRAM --version --json`, or `None` if it fails or takes too long.
fn program_version(program: PathBuf) -> Option<ProgramVersion> {
    let mut child = Command::new(program)
        .args(["--version", "--json"])
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
    let output = line.recv_timeout(VERSION_TIMEOUT).ok();
    // The program has exited, or it hangs.
    drop(child.kill());
    drop(child.wait());
    serde_json::from_str(&output?).ok()
}

/// The engine of a worker, unless its name could confuse a terminal.
fn engine_of(version: ProgramVersion) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " .-_+".contains(c);
    version.engine.filter(|engine| engine.chars().all(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_with_control_characters_is_not_shown() {
        let engine = |text: &str| {
            engine_of(ProgramVersion {
                engine: Some(text.to_owned()),
                ..ProgramVersion::default()
            })
        };
        assert_eq!(engine("v8 15.0.245.4").as_deref(), Some("v8 15.0.245.4"));
        assert_eq!(engine("quickjs").as_deref(), Some("quickjs"));
        assert_eq!(engine("\u{1b}[2J"), None);
    }
}
