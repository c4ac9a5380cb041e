//! `muxd successor`: started by the daemon that serves, to take over from it.
//!
//! Standard input is the socket to that daemon, which gives us the lock and the listening socket.
//! Invariant: whatever goes wrong before it has let us serve, it is told, and this process ends.

use std::{
    io,
    os::{fd::AsFd, unix::net::UnixStream},
    process::ExitCode,
};

use mux_daemon::{
    ServeError,
    handover::{Predecessor, Taken},
    lifecycle::Shutdown,
    serve,
};
use mux_process::{descriptors, freed_memory};
use mux_proto::{variables, version};
use mux_telemetry::logging;

use super::{LAST_THREADS, complain, detach, dirs, setup, threads, variable};

pub(super) fn run() -> ExitCode {
    let inherit = || -> io::Result<_> {
        let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        // It is no socket where somebody has typed this.
        stream.peer_addr()?;
        detach()?;
        Ok(stream)
    };
    let stream = match inherit() {
        Ok(stream) => stream,
        Err(error) => return complain(&format!("muxd successor is started by muxd: {error}")),
    };
    let runtime = match threads() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("muxd: {error:#}")),
    };
    let served = runtime.block_on(take_over(stream));
    runtime.shutdown_timeout(LAST_THREADS);
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("muxd: {error:#}")),
    }
}

async fn take_over(stream: UnixStream) -> anyhow::Result<()> {
    let Taken {
        predecessor,
        listener,
        lock,
        service,
    } = Predecessor::greet(stream, version::BUILD, version::CONTRACT).await?;
    let prepared = || -> anyhow::Result<_> {
        let dirs = dirs()?;
        dirs.prepare()?;
        let filter = variable(variables::LOG);
        let log = logging::start(&dirs.logs(), filter.as_deref());
        let socket = service.passed().map(|passed| passed.path().to_owned());
        let socket = socket.unwrap_or_else(|| dirs.socket());
        Ok((setup(&dirs, socket, service.clone())?, log))
    };
    let (setup, _log) = match prepared() {
        Ok(prepared) => prepared,
        Err(error) => {
            predecessor.fail(format!("{error:#}")).await;
            return Err(error);
        }
    };
    descriptors::raise();
    freed_memory::give_back_long_texts();
    let shutdown = Shutdown::default();
    shutdown.listen_for_signals();
    let served = serve(lock, listener, setup, shutdown, || {}, Some(predecessor)).await;
    served.map_err(|error: ServeError| error.into())
}
