//! Hands a slot's session over to another daemon.
//!
//! Invariant: a session is handed over only when no request is in flight on it and no live run has used it, and only as
//! a whole.

use std::{os::fd::OwnedFd, pin::pin};

use rmcp::model::ServerPeerInfo;

use super::{
    super::session_handover::{self, DetachedSession, HandoverKey, HandoverState},
    Slot,
};
use mux_catalog::ProtocolEra;
use mux_keeper::KeptChild;

/// The maximum unparsed output of a server at the handover, in bytes.
const MAX_UNREAD_BYTES: usize = 128 << 10;

impl Slot {
    /// Forgets a run that has ended.
    pub(crate) fn release_run(&self, run: &str) {
        if self.usage.runs().remove(run) {
            self.usage.less.notify_waiters();
        }
    }

    /// Whether it has a session with a process that could be handed over.
    pub(crate) fn can_hand_over(&self) -> bool {
        let session = self.open_session();
        session.is_some_and(|session| session.pid.is_some())
    }

    /// Resolves when no request is in flight on it, and no live run has used it.
    pub(crate) async fn wait_until_unused(&self) {
        loop {
            let mut less = pin!(self.usage.less.notified());
            less.as_mut().enable();
            if self.usage.is_free() {
                return;
            }
            less.await;
        }
    }

    pub(crate) async fn detach_session(
        &self,
        place: &HandoverKey,
    ) -> Option<(HandoverState, KeptChild, [OwnedFd; 3])> {
        let session = self.open_session()?;
        let definition = match self.tenant.workspace() {
            Some(workspace) => self.family.definition.in_workspace(&workspace),
            None => self.family.definition.clone(),
        };
        let started_as = session_handover::process_fingerprint(&definition)?;
        let server = ServerPeerInfo::clone(&*session.peer.peer_info()?);
        let DetachedSession {
            child,
            pipes,
            stderr,
        } = session.detach_transport().await?;
        let fds = || {
            Some([
                pipes.writer.into_nonblocking_fd().ok()?,
                pipes.reader.into_nonblocking_fd().ok()?,
                stderr.into_nonblocking_fd().ok()?,
            ])
        };
        let fds = fds().filter(|_| pipes.unread.len() <= MAX_UNREAD_BYTES);
        let Some(fds) = fds else {
            child
                .stop(super::super::connect::TERMINATION_GRACE_PERIOD)
                .await;
            return None;
        };
        let state = HandoverState {
            place: place.clone(),
            started_as,
            pid: child.pid,
            id: child.id(),
            modern: session.era == ProtocolEra::Modern,
            server,
            next: pipes.next,
            unread: pipes.unread,
            asks_for_roots: self.family.sharing.asks_for_roots(),
        };
        Some((state, child, fds))
    }
}
