//! `mux reload`, `mux stop`, `mux restart`.

use std::{process::ExitCode, time::Duration};

use mux_client::{Session, within_seconds};
use mux_proto::{Kind, StopRequest};

use super::{Failure, Outcome, dirs, running, session, upgrade};
use crate::{args, exit, render};

/// Covers the drain and the shutdown of all servers.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn reload(json: bool) -> Outcome {
    let session = session().await?;
    let report = session
        .client
        .reload(within_seconds(30))
        .await?
        .map_err(Failure::from)?;
    Ok(render::reloaded(&report, json))
}

pub(super) async fn stop(args: &args::Stop, json: bool) -> Outcome {
    match running().await? {
        Some(session) => {
            let pid = session.welcome.pid;
            end(session, args.now).await?;
            render::stopped(Some(pid), json);
        }
        None => {
            let leaving = mux_client::holder(&dirs()?).map_err(lock_failure)?;
            if let Some(pid) = leaving {
                hurry(pid, args.now);
                wait_for_end(pid).await?;
            }
            render::stopped(leaving, json);
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn restart(args: &args::Restart, json: bool) -> Outcome {
    if args.upgrade {
        return upgrade::upgrade(args.binary.as_deref(), json).await;
    }
    if let Some(session) = running().await? {
        end(session, args.now).await?;
    }
    let session = session().await?;
    render::started(session.welcome.pid, json);
    Ok(ExitCode::SUCCESS)
}

/// Stops the daemon and waits until it has released its lock.
async fn end(session: Session, now: bool) -> Result<(), Failure> {
    let request = StopRequest { now };
    session
        .client
        .stop(within_seconds(10), request)
        .await?
        .map_err(Failure::from)?;
    let pid = session.welcome.pid;
    drop(session);
    wait_for_end(pid).await
}

/// Sends SIGTERM to a daemon that drains and takes no more requests: a second signal ends it at once.
fn hurry(pid: u32, now: bool) {
    #[cfg(unix)]
    if now {
        use nix::sys::signal::{Signal, kill};
        // It may have exited already.
        _ = kill(
            nix::unistd::Pid::from_raw(pid.cast_signed()),
            Signal::SIGTERM,
        );
    }
}

fn lock_failure(error: std::io::Error) -> Failure {
    exit::machinery(format!("cannot read the lock: {error}")).into()
}

async fn wait_for_end(pid: u32) -> Result<(), Failure> {
    match tokio::time::timeout(PATIENCE, mux_client::ended(&dirs()?, pid)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(lock_failure(error)),
        Err(_) => {
            let mut error = exit::machinery(format!("muxd did not end within {PATIENCE:?}"))
                .hint("`mux stop --now` cancels what runs");
            error.kind = Kind::Timeout;
            Err(error.into())
        }
    }
}
