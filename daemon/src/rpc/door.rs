//! What all requests of one connection share: who is there, and what it started.
//!
//! Invariant: the runs of a connection end with it, unless they are detached or their owner has read
//! how they ended.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use mux_proto::Hello;
use mux_sandbox::Turn;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    lifecycle::Present,
    runs::{Origin, Run},
    state::Daemon,
};

pub(super) struct Door {
    daemon: Arc<Daemon>,
    number: u64,
    hello: OnceLock<Hello>,
    origin: OnceLock<Arc<Origin>>,
    arrived: Notify,
    /// From hello on, the daemon counts this client.
    present: OnceLock<Present>,
    /// Something was asked after the greeting.
    asked: CancellationToken,
    /// Runs that end with this connection, as long as they are kept.
    runs: Mutex<Vec<Weak<Run>>>,
}

impl Door {
    pub(super) fn new(daemon: Arc<Daemon>, number: u64) -> Arc<Self> {
        Arc::new(Self {
            daemon,
            number,
            hello: OnceLock::new(),
            origin: OnceLock::new(),
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

    /// Connections of the same client program, agent and workspace have one owner: their runs may follow
    /// each other in one worker process, and they take their turns together.
    pub(super) fn turn(&self) -> Turn {
        let owner = self.hello.get().map_or_else(String::new, |hello| {
            let (name, agent) = (&hello.client.name, &hello.agent);
            format!("{name}|{agent:?}|{:?}", hello.workspace)
        });
        Turn {
            owner,
            client: self.number,
        }
    }

    /// What the client says of itself.
    pub(super) fn origin(&self) -> Arc<Origin> {
        let origin = self.origin.get_or_init(|| {
            let Some(hello) = self.hello.get() else {
                return Arc::default();
            };
            let (name, agent) = (&hello.client.name, hello.agent.as_deref());
            Arc::new(Origin::new(name, agent, hello.workspace.clone()))
        });
        Arc::clone(origin)
    }

    /// The run ends with this connection, unless it is detached.
    pub(super) fn owns(&self, run: &Arc<Run>) {
        if !run.is_detached() {
            let mut runs = self.runs();
            // Those that nobody keeps any more ended long ago.
            runs.retain(|run| run.strong_count() > 0);
            runs.push(Arc::downgrade(run));
        }
    }

    /// If this connection owns the run, it has read how it ended, and need not be waited for.
    pub(super) fn heard(&self, run: &Arc<Run>) {
        self.runs().retain(|own| {
            let ended = std::ptr::eq(own.as_ptr(), Arc::as_ptr(run));
            if ended {
                run.set_heard();
            }
            !ended
        });
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Weak<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        for run in self.runs().drain(..).filter_map(|run| run.upgrade()) {
            run.cancel();
            run.set_heard();
        }
    }
}
