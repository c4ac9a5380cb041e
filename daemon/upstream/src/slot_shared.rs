//! The state of a slot that outlives its sessions: its scope, the lists that clients know, and the resource
//! subscriptions.
//!
//! Invariant: clients are notified of a change only if what they know is no longer true.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::Value;

use super::{
    request::RequestOptions,
    resource_subscribers::ResourceSubscribers,
    resources_and_prompts::{AnnouncedListDigests, ListKind},
    server_requests::RequestPolicy,
    session::Session,
    session_scope::SessionScope,
};
use mux_caller::ListChangeNotifier;
use mux_settings::RemoteTransport;

#[derive(Debug)]
pub(super) struct SlotShared {
    pub(super) subscribers: Arc<ResourceSubscribers>,
    pub(super) news: Arc<ListChangeNotifier>,
    pub(super) tenant: Arc<SessionScope>,
    pub(super) requests: RequestPolicyContext,
    told: Arc<AnnouncedListDigests>,
    spoken: Arc<KnownTransport>,
}

/// The policy for the server's requests to clients.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestPolicyContext {
    /// The identity of the server, unique among servers of one name.
    pub(super) identity: String,
    pub(super) policy: RequestPolicy,
}

/// The transport that worked at an address, if none is configured.
type KnownTransport = Mutex<Option<(String, RemoteTransport)>>;

/// The clients' state of a slot, which outlives the server's definition.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotClientState {
    pub(super) subscribers: Arc<ResourceSubscribers>,
    told: Arc<AnnouncedListDigests>,
    spoken: Arc<KnownTransport>,
}

impl SlotShared {
    pub(super) fn of(
        news: Arc<ListChangeNotifier>,
        tenant: Arc<SessionScope>,
        requests: RequestPolicyContext,
        audience: SlotClientState,
    ) -> Arc<Self> {
        Arc::new(Self {
            subscribers: audience.subscribers,
            news,
            tenant,
            requests,
            told: audience.told,
            spoken: audience.spoken,
        })
    }

    /// Not tied to a caller.
    #[cfg(test)]
    pub(super) fn new(news: Arc<ListChangeNotifier>) -> Arc<Self> {
        Self::of(
            news,
            Arc::default(),
            RequestPolicyContext::default(),
            SlotClientState::default(),
        )
    }

    /// The transport that last worked at this address.
    pub(super) fn known_transport(&self, url: &str) -> Option<RemoteTransport> {
        let spoken = self.spoken.lock();
        let (known, over) = spoken.as_ref()?;
        (known == url).then_some(*over)
    }

    pub(super) fn remember_transport(&self, url: &str, over: RemoteTransport) {
        let mut spoken = self.spoken.lock();
        *spoken = Some((url.to_owned(), over));
    }

    /// Records a list that a client received, or that it is unavailable; notifies clients of a difference.
    pub(super) fn announce_list(&self, kind: ListKind, list: Option<&[Value]>) {
        if self.told.record_and_compare(kind, list) {
            self.news.notify_changed(kind.as_changed());
        }
    }

    /// Notifies clients of a change that the server announced; the next list then counts as known.
    pub(super) fn record_list_changed(&self, kind: ListKind) {
        self.told.forget(kind);
        self.news.notify_changed(kind.as_changed());
    }

    /// Compares the lists of a new session with those that clients know.
    pub(super) async fn compare_lists(&self, session: &Session, within: Duration) {
        for kind in self.told.kinds() {
            let list = session
                .list_cached(kind, &RequestOptions::without_caller(within))
                .await;
            // The next client to request the list gets the error.
            if let Ok(list) = list {
                self.announce_list(kind, Some(&list));
            }
        }
    }
}
