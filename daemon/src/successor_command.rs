//! `muxd successor`: takes over from the daemon that started it.
//!
//! Standard input is the socket to the predecessor, which sends the lock and the listening socket. Invariant: if
//! anything fails before the predecessor has let this process serve, the predecessor learns of it, and this process
//! ends.

use std::{
    io,
    os::{fd::AsFd, unix::net::UnixStream},
    process::ExitCode,
};

use mux_daemon::{
    DaemonStart,
    handover::{Predecessor, TakenOver},
    lifecycle::Shutdown,
    serve_after,
};
use mux_process::{descriptor_limits, malloc_trim};
use mux_proto::{variables, version};
use mux_telemetry::logging;

use super::{
    RUNTIME_SHUTDOWN_TIMEOUT, build_runtime, build_setup, client_start::detach, dirs, env_variable,
    exit_with_error,
};

pub(super) fn run() -> ExitCode {
    let inherit = || -> io::Result<_> {
        let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        // If a user has typed this command, standard input is not a socket.
        stream.peer_addr()?;
        detach()?;
        Ok(stream)
    };
    let stream = match inherit() {
        Ok(stream) => stream,
        Err(error) => {
            return exit_with_error(&format!("muxd successor is started by muxd: {error}"));
        }
    };
    let runtime = match build_runtime() {
        Ok(runtime) => runtime,
        Err(error) => return exit_with_error(&format!("muxd: {error:#}")),
    };
    let served = runtime.block_on(take_over(stream));
    runtime.shutdown_timeout(RUNTIME_SHUTDOWN_TIMEOUT);
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit_with_error(&format!("muxd: {error:#}")),
    }
}

async fn take_over(stream: UnixStream) -> anyhow::Result<()> {
    let TakenOver {
        predecessor,
        listener,
        lock,
        service,
    } = Predecessor::greet(stream, version::BUILD, version::CONTRACT).await?;
    let prepared = || -> anyhow::Result<_> {
        let dirs = dirs()?;
        dirs.prepare()?;
        let filter = env_variable(variables::LOG);
        let log = logging::start_logging(&dirs.logs(), filter.as_deref());
        let socket = service.passed().map(|passed| passed.path().to_owned());
        let socket = socket.unwrap_or_else(|| dirs.socket());
        Ok((build_setup(&dirs, socket, service.clone())?, log))
    };
    let (setup, _log) = match prepared() {
        Ok(prepared) => prepared,
        Err(error) => {
            predecessor.fail(format!("{error:#}")).await;
            return Err(error);
        }
    };
    descriptor_limits::raise();
    malloc_trim::give_back_long_texts();
    let shutdown = Shutdown::default();
    shutdown.listen_for_signals();
    let start = DaemonStart {
        lock,
        listener,
        setup,
        shutdown,
    };
    Ok(serve_after(start, predecessor).await?)
}
