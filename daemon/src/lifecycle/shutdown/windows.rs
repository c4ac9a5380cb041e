//! The events of a console and of the end of a session. A daemon that a client started has no console, and ends by `mux
//! stop`.

use std::io;

use tokio::signal::windows;
use tracing::warn;

use super::Shutdown;

pub(super) fn listen(shutdown: &Shutdown) {
    if let Err(error) = try_listen(shutdown) {
        warn!(%error, "cannot listen for events of the console");
    }
}

fn try_listen(shutdown: &Shutdown) -> io::Result<()> {
    let mut c = windows::ctrl_c()?;
    let mut pause = windows::ctrl_break()?;
    let mut close = windows::ctrl_close()?;
    let mut logoff = windows::ctrl_logoff()?;
    let mut system = windows::ctrl_shutdown()?;
    let shutdown = shutdown.clone();
    tokio::spawn(async move {
        loop {
            let event = tokio::select! {
                event = c.recv() => event,
                event = pause.recv() => event,
                event = close.recv() => event,
                event = logoff.recv() => event,
                event = system.recv() => event,
            };
            if event.is_none() {
                return;
            }
            shutdown.on_signal();
        }
    });
    Ok(())
}
