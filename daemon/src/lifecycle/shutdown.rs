//! The wish to end, after a drain or at once.

use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Cheap to clone; every clone is the same wish.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    now: CancellationToken,
}

impl Shutdown {
    /// Finish and go. However many ask for it, it means no more than that.
    pub fn request(&self) {
        self.drain.cancel();
    }

    /// Go.
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

    /// A token that is cancelled with the first wish.
    pub fn token(&self) -> CancellationToken {
        self.drain.clone()
    }

    /// SIGTERM and SIGINT ask for an end; a second one means now.
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
