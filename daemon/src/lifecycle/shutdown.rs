//! The request to shut down, after a drain or at once.

use tokio_util::sync::CancellationToken;
use tracing::warn;

/// A request to shut down. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    now: CancellationToken,
}

impl Shutdown {
    /// Requests a drain, then an exit. Further requests change nothing.
    pub fn request(&self) {
        self.drain.cancel();
    }

    /// Requests an exit without a drain.
    pub fn request_now(&self) {
        self.drain.cancel();
        self.now.cancel();
    }

    pub async fn requested(&self) {
        self.drain.cancelled().await;
    }

    pub async fn requested_now(&self) {
        self.now.cancelled().await;
    }

    /// A token that is cancelled with the first request.
    pub fn token(&self) -> CancellationToken {
        self.drain.clone()
    }

    /// Handles SIGTERM and SIGINT: the first signal requests a drain, the second an exit at once.
    #[cfg(unix)]
    pub fn listen_for_signals(&self) {
        use tokio::signal::unix::{SignalKind, signal};
        for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
            let shutdown = self.clone();
            match signal(kind) {
                Ok(mut signals) => {
                    tokio::spawn(async move {
                        while signals.recv().await.is_some() {
                            if shutdown.drain.is_cancelled() {
                                shutdown.request_now();
                            }
                            shutdown.request();
                        }
                    });
                }
                Err(error) => warn!(%error, "cannot listen for signals"),
            }
        }
    }
}
