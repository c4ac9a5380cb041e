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
    asks::RequestPolicy,
    offers::{OfferKind, Told},
    request::Sending,
    session::Session,
    subscribers::Subscribers,
    tenant::Tenant,
};
use mux_caller::News;
use mux_settings::RemoteTransport;

#[derive(Debug)]
pub(super) struct Beside {
    pub(super) subscribers: Arc<Subscribers>,
    pub(super) news: Arc<News>,
    pub(super) tenant: Arc<Tenant>,
    pub(super) requests: Requests,
    told: Arc<Told>,
    spoken: Arc<Spoken>,
}

/// Who decides on what the server asks of its clients.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    /// Of the server, also among those of one name.
    pub(super) identity: String,
    pub(super) policy: RequestPolicy,
}

/// What was spoken at which address, where nobody has said so.
type Spoken = Mutex<Option<(String, RemoteTransport)>>;

/// Who listens to a place, whatever becomes of its server.
#[derive(Clone, Debug, Default)]
pub(super) struct Audience {
    pub(super) subscribers: Arc<Subscribers>,
    told: Arc<Told>,
    spoken: Arc<Spoken>,
}

impl Beside {
    pub(super) fn of(
        news: Arc<News>,
        tenant: Arc<Tenant>,
        requests: Requests,
        audience: Audience,
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
    pub(super) fn new(news: Arc<News>) -> Arc<Self> {
        Self::of(
            news,
            Arc::default(),
            Requests::default(),
            Audience::default(),
        )
    }

    /// What worked at this address when it was last tried.
    pub(super) fn spoken(&self, url: &str) -> Option<RemoteTransport> {
        let spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, over) = spoken.as_ref()?;
        (known == url).then_some(*over)
    }

    pub(super) fn speaks(&self, url: &str, over: RemoteTransport) {
        let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        *spoken = Some((url.to_owned(), over));
    }

    /// Somebody was told this list, or that it cannot be had.
    pub(super) fn tell(&self, kind: OfferKind, list: Option<&[Value]>) {
        if self.told.differs(kind, list) {
            self.news.tell(kind.changed());
        }
    }

    /// The server says so, and with it all clients know: the next list is no news.
    pub(super) fn changed(&self, kind: OfferKind) {
        self.told.forget(kind);
        self.news.tell(kind.changed());
    }

    /// A new session may offer something else than the one before.
    pub(super) async fn compare(&self, session: &Session, within: Duration) {
        for kind in self.told.kinds() {
            let list = session.offers(kind, &Sending::alone(within)).await;
            // What cannot be listed now is told to whoever asks.
            if let Ok(list) = list {
                self.tell(kind, Some(&list));
            }
        }
    }
}
