//! A slot whose session goes over to another daemon.
//!
//! Invariant: a session goes when nothing is on its way over it and no run that lives has used it, and then whole.

use std::{os::fd::OwnedFd, pin::pin};

use rmcp::model::ServerPeerInfo;

use super::{
    super::handed::{self, HandedPlace, HandedState, Parted},
    Slot,
};
use mux_catalog::Era;
use mux_keeper::KeptChild;

/// What of a server's words may be unread when its session goes, in bytes.
const MOST_UNREAD: usize = 128 << 10;

impl Slot {
    /// The run has ended.
    pub(crate) fn run_over(&self, run: &str) {
        if self.usage.runs().remove(run) {
            self.usage.less.notify_waiters();
        }
    }

    /// Whether it has a session of a process that could go over to another daemon.
    pub(crate) fn can_part(&self) -> bool {
        let session = self.open_session();
        session.is_some_and(|session| session.pid.is_some())
    }

    /// Resolves when nothing is on its way over it, and no run that lives has used it.
    pub(crate) async fn free(&self) {
        loop {
            let mut less = pin!(self.usage.less.notified());
            less.as_mut().enable();
            if self.usage.is_free() {
                return;
            }
            less.await;
        }
    }

    pub(crate) async fn part(
        &self,
        place: &HandedPlace,
    ) -> Option<(HandedState, KeptChild, [OwnedFd; 3])> {
        let session = self.open_session()?;
        let definition = match self.tenant.workspace() {
            Some(workspace) => self.family.definition.at(&workspace),
            None => self.family.definition.clone(),
        };
        let started_as = handed::started_as(&definition)?;
        let server = ServerPeerInfo::clone(&*session.peer.peer_info()?);
        let Parted {
            child,
            pipes,
            stderr,
        } = session.part().await?;
        let fds = || {
            Some([
                pipes.writer.into_nonblocking_fd().ok()?,
                pipes.reader.into_nonblocking_fd().ok()?,
                stderr.into_nonblocking_fd().ok()?,
            ])
        };
        let fds = fds().filter(|_| pipes.unread.len() <= MOST_UNREAD);
        let Some(fds) = fds else {
            child.stop(super::super::open::GRACE).await;
            return None;
        };
        let state = HandedState {
            place: place.clone(),
            started_as,
            pid: child.pid,
            id: child.id(),
            modern: session.era == Era::Modern,
            server,
            next: pipes.next,
            unread: pipes.unread,
            asks_for_roots: self.family.sharing.asks_for_roots(),
        };
        Some((state, child, fds))
    }
}
