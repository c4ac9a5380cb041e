//! Starts one child in the keeper, from its request to its exec.
//!
//! Invariant: a child inherits nothing from the keeper: its only descriptors are its three pipes, no signal is blocked
//! or ignored, its limits are those that muxd was started with, and its environment is the request's plus the marker.

use std::{
    ffi::OsString,
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStringExt, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::{
    errno::Errno,
    sys::{
        prctl,
        signal::{SigSet, Signal},
    },
    unistd::{AccessFlags, Pid, access, getppid},
};

use mux_process::core_dumps;

use super::{
    kept_child::TreeLimits,
    process_table::{MARKER_VARIABLE, marker},
    wire::{FDS_PER_CHILD, SpawnFailure, SpawnRequest},
};

pub(super) struct LaunchedChild {
    pub(super) pid: Pid,
    pub(super) marker: Vec<u8>,
    pub(super) limits: TreeLimits,
    /// The keeper's ends, in the order of the protocol.
    pub(super) pipes: [OwnedFd; FDS_PER_CHILD],
}

pub(super) struct LaunchRefusal {
    pub(super) kind: SpawnFailure,
    pub(super) error: io::Error,
}

/// The common part of the markers of a keeper's children.
pub(super) struct MarkerOrigin {
    /// The keeper's pid, as the daemon knows it.
    pub(super) keeper: u32,
    pub(super) home: String,
}

pub(super) fn launch(
    request: SpawnRequest,
    origin: &MarkerOrigin,
) -> Result<LaunchedChild, LaunchRefusal> {
    let cwd = PathBuf::from(OsString::from(request.cwd));
    // The exec reports a bad directory and a missing program alike, so the directory is checked first.
    enter(&cwd).map_err(|error| LaunchRefusal {
        kind: SpawnFailure::BadCwd,
        error,
    })?;
    let marker = marker(&request.tag, origin.keeper, request.id, &origin.home);
    let env = request.env.into_iter();
    let mut command = Command::new(OsString::from(request.program));
    command
        .args(request.args.into_iter().map(OsString::from))
        .env_clear()
        .envs(env.map(|(name, value)| (OsString::from(name), OsString::from(value))))
        .env(MARKER_VARIABLE, &marker)
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    die_with_the_keeper(&mut command);
    let mut child = command.spawn().map_err(|error| LaunchRefusal {
        kind: kind_of(&error),
        error,
    })?;
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
        unreachable!("all three were asked for as pipes");
    };
    Ok(LaunchedChild {
        pid: Pid::from_raw(child.id().cast_signed()),
        marker: marker.into_vec(),
        limits: request.limits,
        pipes: [stdin.into(), stdout.into(), stderr.into()],
    })
}

/// Checks that a child could start in `cwd`.
fn enter(cwd: &Path) -> io::Result<()> {
    if !cwd.is_absolute() {
        return Err(io::Error::other("it is not an absolute path"));
    }
    if !fs::metadata(cwd)?.is_dir() {
        return Err(Errno::ENOTDIR.into());
    }
    Ok(access(cwd, AccessFlags::X_OK)?)
}

fn kind_of(error: &io::Error) -> SpawnFailure {
    match error.kind() {
        io::ErrorKind::NotFound => SpawnFailure::NotFound,
        io::ErrorKind::PermissionDenied => SpawnFailure::NotExecutable,
        _ => SpawnFailure::Other,
    }
}

/// The second line of defense: if the keeper is killed, the kernel kills its children.
#[expect(
    unsafe_code,
    reason = "only the new process can ask for its parent-death signal"
)]
fn die_with_the_keeper(command: &mut Command) {
    let keeper = Pid::this();
    let before_exec = move || {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // If the keeper died before that call, no signal would be sent.
        if getppid() != keeper {
            return Err(Errno::ESRCH.into());
        }
        core_dumps::restore_core_limit()?;
        // The keeper blocks signals, and an exec keeps the mask.
        Ok(SigSet::empty().thread_set_mask()?)
    };
    // SAFETY: between fork and exec the closure makes four system calls on existing values, and neither allocates nor
    // takes a lock.
    unsafe {
        command.pre_exec(before_exec);
    }
}
