//! `mux reload`, `mux stop`, `mux restart`.

use std::{process::ExitCode, time::Duration};

use mux_client::{Session, within_seconds};
use mux_proto::{Kind, StopRequest};

use super::{Failure, Outcome, dirs, running, session};
use crate::{args, exit, render};

/// The drain, and the end of all servers.
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
        None => render::stopped(None, json),
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn restart(args: &args::Stop, json: bool) -> Outcome {
    if let Some(session) = running().await? {
        end(session, args.now).await?;
    }
    let session = session().await?;
    render::started(session.welcome.pid, json);
    Ok(ExitCode::SUCCESS)
}

/// Asks for the end and waits until the daemon has let go of its lock.
async fn end(session: Session, now: bool) -> Result<(), Failure> {
    let request = StopRequest { now };
    session
        .client
        .stop(within_seconds(10), request)
        .await?
        .map_err(Failure::from)?;
    drop(session);
    let path = dirs()?.instance_lock();
    let released =
        tokio::task::spawn_blocking(move || std::fs::File::open(path).and_then(|file| file.lock()));
    match tokio::time::timeout(PATIENCE, released).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) => Err(exit::machinery(format!("cannot see its lock: {error}")).into()),
        Ok(Err(error)) => Err(exit::machinery(error.to_string()).into()),
        Err(_) => {
            let mut error = exit::machinery(format!("muxd did not end within {PATIENCE:?}"))
                .hint("`mux stop --now` cancels what runs");
            error.kind = Kind::Timeout;
            Err(error.into())
        }
    }
}
