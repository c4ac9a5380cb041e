//! The events that a slot's owner handles.

use std::{path::PathBuf, sync::Arc};

use mux_wire::Fault;
use tokio::sync::oneshot;

use crate::{link::OpenError, session::Session};

pub(super) type SessionWaiter = oneshot::Sender<Result<Arc<Session>, Fault>>;

pub(in crate::server) enum SlotEvent {
    Acquire {
        waiter: SessionWaiter,
        /// The caller's workspace.
        workspace: Option<PathBuf>,
    },
    /// Open the session although no caller waits.
    Wake,
    /// Open the session in the background, because the server was called recently.
    Prestart,
    /// A session of the previous daemon has arrived.
    Handed,
    Opened(Result<Arc<Session>, OpenError>),
    Ended(SessionEnd),
    Restart(SessionWaiter),
    /// The slot has moved to another key.
    Moved,
    /// Take no more callers. End the session when its calls are done, or immediately.
    Retire {
        why: &'static str,
        now: bool,
        done: Option<oneshot::Sender<()>>,
    },
}

/// The end of a session.
pub(crate) struct SessionEnd {
    pub(super) session: Arc<Session>,
    pub(crate) reason: String,
    /// Set if the daemon closed the session.
    pub(super) closed_by_daemon: bool,
}
