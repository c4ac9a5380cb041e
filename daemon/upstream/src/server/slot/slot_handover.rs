//! Hands a slot's session over to another daemon.
//!
//! Invariant: a session is handed over only when no request is in flight on it and no live run has used it, and only as
//! a whole.

use std::sync::Arc;

use rmcp::model::ServerPeerInfo;

use super::Slot;
use crate::{
    link::{DetachedProcess, TERMINATION_GRACE_PERIOD},
    session::{HandoverKey, HandoverState, process_fingerprint},
};
use mux_catalog::ProtocolEra;
use mux_keeper::{HandedPipes, KeptChild, hand_over};

/// The maximum unparsed output of a server at the handover, in bytes.
const MAX_UNREAD_BYTES: usize = 128 << 10;

impl Slot {
    /// Forgets a run that has ended.
    pub(in crate::server) fn release_run(&self, run: &str) {
        self.usage.release_run(run);
    }

    /// True if the slot has a session with a process that could be handed over.
    pub(in crate::server) fn can_hand_over(&self) -> bool {
        let session = self.open_session();
        session.is_some_and(|session| session.pid.is_some())
    }

    async fn detach_session(
        &self,
        place: &HandoverKey,
    ) -> Option<(HandoverState, KeptChild, HandedPipes)> {
        let session = self.open_session()?;
        let definition = match self.scope.workspace() {
            Some(workspace) => self.server_shared.definition.in_workspace(&workspace),
            None => self.server_shared.definition.clone(),
        };
        let started_as = process_fingerprint(&definition)?;
        let server = ServerPeerInfo::clone(&*session.peer.peer_info()?);
        let DetachedProcess {
            child,
            pipes,
            stderr,
        } = session.detach_transport().await?;
        let handed = hand_over((pipes.writer, pipes.reader, stderr)).ok();
        let handed = handed.filter(|_| pipes.unread.len() <= MAX_UNREAD_BYTES);
        let Some(handed) = handed else {
            child.stop(TERMINATION_GRACE_PERIOD).await;
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
            asks_for_roots: self.server_shared.sharing.asks_for_roots(),
            sandbox_layers: session.sandbox_layers.clone(),
        };
        Some((state, child, handed))
    }
}

/// A slot whose session may be handed over.
pub struct OutgoingSession {
    pub place: HandoverKey,
    pub(in crate::server) slot: Arc<Slot>,
}

impl OutgoingSession {
    /// Resolves when no request is in flight on it, and no live run has used it.
    pub async fn wait_until_free(&self) {
        self.slot.usage.wait_until_free().await;
    }

    /// Detaches the session from this daemon. `None` if there is no session any longer, or if detaching fails, and then
    /// the session ends.
    pub async fn detach(&self) -> Option<(HandoverState, KeptChild, HandedPipes)> {
        self.slot.detach_session(&self.place).await
    }
}
