//! What all requests of one connection share: who is there, and what it started.
//!
//! Invariant: the runs of a connection end with it, unless their owner has read how they ended.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mux_proto::Hello;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{lifecycle::Present, runs::Run, state::Daemon};

pub(super) struct Door {
    daemon: Arc<Daemon>,
    number: u64,
    hello: OnceLock<Hello>,
    arrived: Notify,
    /// From hello on, the daemon counts this client.
    present: OnceLock<Present>,
    /// Something was asked after the greeting.
    asked: CancellationToken,
    /// Runs that end with this connection.
    runs: Mutex<Vec<Arc<Run>>>,
}

impl Door {
    pub(super) fn new(daemon: Arc<Daemon>, number: u64) -> Arc<Self> {
        Arc::new(Self {
            daemon,
            number,
            hello: OnceLock::new(),
            arrived: Notify::new(),
            present: OnceLock::new(),
            asked: CancellationToken::new(),
            runs: Mutex::default(),
        })
    }

    /// Lets the client in; false if the daemon is ending. A second hello changes nothing.
    pub(super) fn greet(&self, hello: Hello) -> bool {
        let Some(present) = self.daemon.activity.client() else {
            return false;
        };
        drop((self.present.set(present), self.hello.set(hello)));
        self.arrived.notify_one();
        true
    }

    pub(super) fn is_greeted(&self) -> bool {
        self.hello.get().is_some()
    }

    /// Resolves when the client has said hello.
    pub(super) async fn greeted(&self) {
        self.arrived.notified().await;
    }

    /// The daemon for a client that was greeted.
    pub(super) fn open(&self) -> Option<&Arc<Daemon>> {
        self.asked.cancel();
        self.is_greeted().then_some(&self.daemon)
    }

    /// Resolves when the client has asked for something after its hello.
    pub(super) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    /// Runs of the same client program, agent and workspace may share a worker process.
    pub(super) fn owner(&self) -> String {
        self.hello.get().map_or_else(
            || self.number.to_string(),
            |hello| {
                format!(
                    "{}|{:?}|{:?}",
                    hello.client.name, hello.agent, hello.workspace
                )
            },
        )
    }

    /// The run ends with this connection.
    pub(super) fn owns(&self, run: Arc<Run>) {
        self.runs().push(run);
    }

    /// If this connection owns the run, it has read how it ended, and need not be waited for.
    pub(super) fn heard(&self, run: &Arc<Run>) {
        self.runs().retain(|own| {
            let ended = Arc::ptr_eq(own, run);
            if ended {
                own.set_heard();
            }
            !ended
        });
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        for run in self.runs().drain(..) {
            run.cancel();
            run.set_heard();
        }
    }
}
