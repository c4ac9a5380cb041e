//! The state of a slot that outlives its sessions: its scope, the lists that clients know, and the resource
//! subscriptions.
//!
//! Invariant: clients are notified of a change only if their lists are outdated.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::{
    announced_lists::AnnouncedListDigests, resource_subscribers::ResourceSubscribers,
    session_scope::SessionScope,
};
use crate::listing::ListKind;
use mux_caller::ListChangeNotifier;
use mux_settings::RemoteTransport;

#[derive(Debug)]
pub(crate) struct SlotShared {
    pub(crate) subscribers: Arc<ResourceSubscribers>,
    pub(crate) list_changes: Arc<ListChangeNotifier>,
    pub(crate) scope: Arc<SessionScope>,
    announced: Arc<AnnouncedListDigests>,
    known_transport: Arc<KnownTransport>,
}

/// The transport that worked at an address, if none is configured.
type KnownTransport = Mutex<Option<(String, RemoteTransport)>>;

/// The clients' state of a slot, which outlives the server's definition.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotClientState {
    pub(crate) subscribers: Arc<ResourceSubscribers>,
    announced: Arc<AnnouncedListDigests>,
    known_transport: Arc<KnownTransport>,
}

impl SlotShared {
    pub(crate) fn of(
        list_changes: Arc<ListChangeNotifier>,
        scope: Arc<SessionScope>,
        client_state: SlotClientState,
    ) -> Arc<Self> {
        Arc::new(Self {
            subscribers: client_state.subscribers,
            list_changes,
            scope,
            announced: client_state.announced,
            known_transport: client_state.known_transport,
        })
    }

    /// Not tied to a caller.
    #[cfg(test)]
    pub(crate) fn new(list_changes: Arc<ListChangeNotifier>) -> Arc<Self> {
        Self::of(list_changes, Arc::default(), SlotClientState::default())
    }

    /// The transport that last worked at this address.
    pub(crate) fn known_transport(&self, url: &str) -> Option<RemoteTransport> {
        let known_transport = self.known_transport.lock();
        let (known, transport) = known_transport.as_ref()?;
        (known == url).then_some(*transport)
    }

    pub(crate) fn remember_transport(&self, url: &str, transport: RemoteTransport) {
        let mut known_transport = self.known_transport.lock();
        *known_transport = Some((url.to_owned(), transport));
    }

    /// Records a list that a client received, or that the list is unavailable. Notifies clients of a difference.
    pub(crate) fn announce_list(&self, kind: ListKind, list: Option<&[Value]>) {
        if self.announced.record_and_compare(kind, list) {
            self.list_changes.notify_changed(kind.as_changed());
        }
    }

    /// Notifies clients of a change that the server announced. The next list then counts as known.
    pub(crate) fn record_list_changed(&self, kind: ListKind) {
        self.announced.forget(kind);
        self.list_changes.notify_changed(kind.as_changed());
    }

    /// The lists that clients have received.
    pub(crate) fn announced_kinds(&self) -> Vec<ListKind> {
        self.announced.kinds()
    }
}
