//! SIGTERM and SIGINT.

use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;

use super::Shutdown;

pub(super) fn listen(shutdown: &Shutdown) {
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let shutdown = shutdown.clone();
        match signal(kind) {
            Ok(mut signals) => {
                tokio::spawn(async move {
                    while signals.recv().await.is_some() {
                        shutdown.on_signal();
                    }
                });
            }
            Err(error) => warn!(%error, "cannot listen for signals"),
        }
    }
}
