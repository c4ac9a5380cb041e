//! The request to shut down, after a drain or immediately.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use tokio_util::sync::CancellationToken;

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

    /// Handles the system's requests to end, SIGTERM and SIGINT or the events of a console: the first requests a drain,
    /// the second an immediate exit.
    pub fn listen_for_signals(&self) {
        system::listen(self);
    }

    fn on_signal(&self) {
        if self.drain.is_cancelled() {
            self.request_now();
        }
        self.request();
    }
}
