//! `mux reload`, `mux stop`, `mux restart`.

use std::time::Duration;

use mux_client::{Session, within_seconds};
use mux_proto::{Error, Kind, StopRequest};

use super::{
    CommandFailure, CommandResult, connect_if_running, connect_or_start, resolve_dirs, upgrade,
};
use crate::{args, exit, render};

/// Covers the drain and the shutdown of all servers.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn reload(json: bool) -> CommandResult {
    let session = connect_or_start().await?;
    let report = session.client.reload(within_seconds(30)).await??;
    Ok(render::show(&report, json, render::reloaded))
}

pub(super) async fn stop(args: &args::StopArgs, json: bool) -> CommandResult {
    if let Some(session) = connect_if_running().await? {
        let pid = session.welcome.pid;
        stop_daemon(session, args.now).await?;
        Ok(render::stopped(Some(pid), json))
    } else {
        let leaving =
            mux_client::lock_holder(&resolve_dirs()?).map_err(|error| lock_failure(&error))?;
        if let Some(pid) = leaving {
            if args.now {
                terminate_draining(pid);
            }
            wait_for_exit(pid).await?;
        }
        Ok(render::stopped(leaving, json))
    }
}

pub(super) async fn restart(args: &args::RestartArgs, json: bool) -> CommandResult {
    if args.upgrade {
        return upgrade::upgrade(args.binary.as_deref(), json).await;
    }
    if let Some(session) = connect_if_running().await? {
        stop_daemon(session, args.now).await?;
    }
    let session = connect_or_start().await?;
    Ok(render::started(session.welcome.pid, json))
}

/// Stops the daemon and waits until it has released its lock.
pub(super) async fn stop_daemon(session: Session, now: bool) -> Result<(), CommandFailure> {
    let request = StopRequest { now };
    session.client.stop(within_seconds(10), request).await??;
    let pid = session.welcome.pid;
    drop(session);
    wait_for_exit(pid).await
}

/// Ends a daemon that drains and takes no more requests. A second SIGTERM ends it immediately.
#[cfg(unix)]
fn terminate_draining(pid: u32) {
    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };
    // The daemon may have exited already.
    _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGTERM);
}

/// Ends a daemon that drains and takes no more requests. Its children end with it.
#[cfg(windows)]
#[expect(unsafe_code, reason = "no safe wrapper of TerminateProcess is at hand")]
fn terminate_draining(pid: u32) {
    use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};

    use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_TERMINATE, TerminateProcess};
    // SAFETY: the call takes integers, and a handle that is not null belongs to the caller.
    let process = unsafe {
        let process = OpenProcess(PROCESS_TERMINATE, 0, pid);
        (!process.is_null()).then(|| OwnedHandle::from_raw_handle(process))
    };
    if let Some(process) = process {
        // SAFETY: the handle is open. The process may have exited already.
        unsafe { TerminateProcess(process.as_raw_handle(), 1) };
    }
}

fn lock_failure(error: &std::io::Error) -> CommandFailure {
    exit::unavailable_error(format!("cannot read the lock: {error}")).into()
}

async fn wait_for_exit(pid: u32) -> Result<(), CommandFailure> {
    match tokio::time::timeout(
        STOP_TIMEOUT,
        mux_client::wait_for_exit(&resolve_dirs()?, pid),
    )
    .await
    {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(lock_failure(&error)),
        Err(_) => {
            let message = format!("muxd did not exit within {STOP_TIMEOUT:?}");
            Err(Error::new(Kind::Timeout, message)
                .hint("`mux stop --now` cancels active runs")
                .into())
        }
    }
}
