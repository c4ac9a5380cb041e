//! The state of a slot that outlives its sessions: its scope, the lists that clients know, and the resource
//! subscriptions.
//!
//! Invariant: clients are notified of a change only if what they know is no longer true.

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
    pub(crate) news: Arc<ListChangeNotifier>,
    pub(crate) tenant: Arc<SessionScope>,
    told: Arc<AnnouncedListDigests>,
    spoken: Arc<KnownTransport>,
}

/// The transport that worked at an address, if none is configured.
type KnownTransport = Mutex<Option<(String, RemoteTransport)>>;

/// The clients' state of a slot, which outlives the server's definition.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotClientState {
    pub(crate) subscribers: Arc<ResourceSubscribers>,
    told: Arc<AnnouncedListDigests>,
    spoken: Arc<KnownTransport>,
}

impl SlotShared {
    pub(crate) fn of(
        news: Arc<ListChangeNotifier>,
        tenant: Arc<SessionScope>,
        audience: SlotClientState,
    ) -> Arc<Self> {
        Arc::new(Self {
            subscribers: audience.subscribers,
            news,
            tenant,
            told: audience.told,
            spoken: audience.spoken,
        })
    }

    /// Not tied to a caller.
    #[cfg(test)]
    pub(crate) fn new(news: Arc<ListChangeNotifier>) -> Arc<Self> {
        Self::of(news, Arc::default(), SlotClientState::default())
    }

    /// The transport that last worked at this address.
    pub(crate) fn known_transport(&self, url: &str) -> Option<RemoteTransport> {
        let spoken = self.spoken.lock();
        let (known, over) = spoken.as_ref()?;
        (known == url).then_some(*over)
    }

    pub(crate) fn remember_transport(&self, url: &str, over: RemoteTransport) {
        let mut spoken = self.spoken.lock();
        *spoken = Some((url.to_owned(), over));
    }

    /// Records a list that a client received, or that it is unavailable; notifies clients of a difference.
    pub(crate) fn announce_list(&self, kind: ListKind, list: Option<&[Value]>) {
        if self.told.record_and_compare(kind, list) {
            self.news.notify_changed(kind.as_changed());
        }
    }

    /// Notifies clients of a change that the server announced; the next list then counts as known.
    pub(crate) fn record_list_changed(&self, kind: ListKind) {
        self.told.forget(kind);
        self.news.notify_changed(kind.as_changed());
    }

    /// The lists that clients have received.
    pub(crate) fn announced_kinds(&self) -> Vec<ListKind> {
        self.told.kinds()
    }
}
