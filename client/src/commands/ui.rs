//! `mux ui`.

use std::{process::ExitCode, time::Duration};

use mux_client::ClientIdentity;
use tokio_util::sync::CancellationToken;

use super::{
    CommandFailure, CommandResult, browser, client_identity, connect_or_start_as, resolve_dirs,
};
use crate::{args, exit, render, ui};

/// How long open connections are still served at the end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

pub(super) async fn ui(args: &args::UiArgs, json: bool) -> CommandResult {
    let me = ClientIdentity {
        name: "mux ui".into(),
        ..client_identity()
    };
    let session = connect_or_start_as(&me).await?;
    let bound = ui::UiServer::bind(args.port.unwrap_or(0)).await;
    let server = bound.map_err(|error| bind_failure(args.port, &error))?;
    // Listens before the address is printed: its reader may send a signal immediately.
    let ended = termination_signal();
    // Other users can read the arguments of the browser, so this address opens the page only once.
    let opened = if args.no_open {
        None
    } else {
        browser::open_url(args.browser.clone(), &server.one_time_address())
    };
    render::serving(&server.address(), server.port(), opened.is_some(), json);
    let over = CancellationToken::new();
    let served = server.serve(resolve_dirs()?, me, session, over.clone());
    tokio::pin!(served);
    tokio::select! {
        served = &mut served => {
            served.map_err(|error| exit::unavailable_error(format!("the dashboard cannot be served: {error}")))?;
        }
        () = ended => {
            over.cancel();
            // A browser that is slower than that is cut off.
            drop(tokio::time::timeout(SHUTDOWN_GRACE, served).await);
        }
    }
    drop(opened);
    Ok(ExitCode::SUCCESS)
}

fn bind_failure(port: Option<u16>, error: &std::io::Error) -> CommandFailure {
    let failure = match port {
        Some(port) => {
            let message = format!("cannot listen on port {port} of 127.0.0.1: {error}");
            exit::unavailable_error(message).hint("without --port, a free port is used")
        }
        None => exit::unavailable_error(format!("cannot listen on 127.0.0.1: {error}")),
    };
    failure.into()
}

/// Resolves on SIGINT or SIGTERM. Listens from the call on, not from the first poll.
#[cfg(unix)]
fn termination_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    async fn signal_received(listening: std::io::Result<Signal>) {
        match listening {
            Ok(mut signals) => _ = signals.recv().await,
            // Then the signal ends the process, as by default.
            Err(_) => std::future::pending().await,
        }
    }
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    async {
        tokio::select! {
            () = signal_received(interrupt) => {}
            () = signal_received(terminate) => {}
        }
    }
}

#[cfg(not(unix))]
fn termination_signal() -> impl Future<Output = ()> {
    super::wait_for_ctrl_c()
}
