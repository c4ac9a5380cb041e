//! What a session's place has beside its tools, across the sessions: whose they are, the lists that clients
//! know, and who follows which resource.
//!
//! Invariant: clients are told of a change only if what they know is no longer so.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

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

/// Who decides on what the server asks of its clients.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestPolicyContext {
    /// Of the server, also among those of one name.
    pub(super) identity: String,
    pub(super) policy: RequestPolicy,
}

/// What was spoken at which address, where nobody has said so.
type KnownTransport = Mutex<Option<(String, RemoteTransport)>>;

/// Who listens to a place, whatever becomes of its server.
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

    /// Nobody's in particular.
    #[cfg(test)]
    pub(super) fn new(news: Arc<ListChangeNotifier>) -> Arc<Self> {
        Self::of(
            news,
            Arc::default(),
            RequestPolicyContext::default(),
            SlotClientState::default(),
        )
    }

    /// What worked at this address when it was last tried.
    pub(super) fn known_transport(&self, url: &str) -> Option<RemoteTransport> {
        let spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, over) = spoken.as_ref()?;
        (known == url).then_some(*over)
    }

    pub(super) fn remember_transport(&self, url: &str, over: RemoteTransport) {
        let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        *spoken = Some((url.to_owned(), over));
    }

    /// Somebody was told this list, or that it cannot be had.
    pub(super) fn announce_list(&self, kind: ListKind, list: Option<&[Value]>) {
        if self.told.record_and_compare(kind, list) {
            self.news.notify_changed(kind.as_changed());
        }
    }

    /// The server says so, and with it all clients know: the next list is no news.
    pub(super) fn record_list_changed(&self, kind: ListKind) {
        self.told.forget(kind);
        self.news.notify_changed(kind.as_changed());
    }

    /// A new session may offer something else than the one before.
    pub(super) async fn compare_lists(&self, session: &Session, within: Duration) {
        for kind in self.told.kinds() {
            let list = session
                .list_cached(kind, &RequestOptions::without_caller(within))
                .await;
            // What cannot be listed now is told to whoever asks.
            if let Ok(list) = list {
                self.announce_list(kind, Some(&list));
            }
        }
    }
}
