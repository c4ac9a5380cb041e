//! Subscriptions to resources of servers.
//!
//! Invariant: subscriptions survive a restart of the daemon; they are renewed with the next one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mux_client::{lost, within_seconds};
use mux_proto::{Error, MuxClient, SubscribeRequest};
use rmcp::ErrorData;

use super::{
    guide,
    link::{Line, Link},
    names,
    offers::{Offers, not_found},
};

/// The timeout of a subscription, in seconds: the server may have to be started first.
const PATIENCE: u64 = 60;

/// The agent's subscriptions. Cheap to clone.
#[derive(Clone)]
pub(super) struct Subscriptions(Arc<Inner>);

struct Inner {
    link: Link,
    offers: Offers,
    /// The subscribers of each resource, by server and own uri.
    wanted: Mutex<BTreeMap<(String, String), BTreeSet<Holder>>>,
}

/// A subscriber of a resource: the agent (legacy era), or one subscription (modern era).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Holder {
    Agent,
    Subscription(u64),
}

/// A changed resource, with uris as the agent knows them.
#[derive(Debug, PartialEq)]
pub(super) struct Update {
    pub(super) uri: String,
    /// The subscribed uris that cover the changed resource.
    pub(super) wanted: Vec<String>,
}

impl Subscriptions {
    pub(super) fn new(link: Link, offers: Offers) -> Self {
        Self(Arc::new(Inner {
            link,
            offers,
            wanted: Mutex::default(),
        }))
    }

    /// Subscribes to a resource, or unsubscribes from it.
    pub(super) async fn set(
        &self,
        uri: &str,
        holder: Holder,
        subscribe: bool,
    ) -> Result<(), ErrorData> {
        let offers = &self.0.offers;
        // The guide never changes.
        if offers.has_guide() && uri == guide::URI {
            return Ok(());
        }
        let (server, own) = offers.resource(uri)?;
        let key = (server.clone(), own.clone());
        if !subscribe && !self.release(&key, holder) {
            return Ok(());
        }
        let request = SubscribeRequest {
            server,
            uri: own,
            subscribe,
        };
        let send = |client: MuxClient, request| async move {
            client.subscribe(within_seconds(PATIENCE), request).await
        };
        let asked = self.0.link.request("subscribe", request, send).await;
        asked.map_err(|error| not_found(error, uri))?;
        if subscribe {
            self.wanted().entry(key).or_default().insert(holder);
        }
        Ok(())
    }

    /// Removes a subscriber; returns whether none is left.
    fn release(&self, key: &(String, String), holder: Holder) -> bool {
        let mut wanted = self.wanted();
        let Some(holders) = wanted.get_mut(key) else {
            return true;
        };
        holders.remove(&holder);
        let free = holders.is_empty();
        if free {
            wanted.remove(key);
        }
        free
    }

    /// Repeats all subscriptions with a new daemon.
    pub(super) async fn renew(&self, line: &Arc<Line>) {
        let wanted: Vec<_> = self.wanted().keys().cloned().collect();
        for (server, uri) in wanted {
            // A server that no longer exists sends no updates.
            drop(renew(line, server, uri).await);
        }
    }

    /// A changed resource of a server as an update for the agent; `None` if it is not subscribed to.
    pub(super) fn shown(&self, server: &str, uri: &str) -> Option<Update> {
        let shown = |own: &str| match self.0.offers.is_single() {
            true => own.to_owned(),
            false => names::uri(server, own),
        };
        let wanted = self.wanted();
        let all = wanted
            .keys()
            .filter(|(of, own)| of == server && covers(own, uri));
        let wanted: Vec<String> = all.map(|(_, own)| shown(own)).collect();
        (!wanted.is_empty()).then(|| Update {
            uri: shown(uri),
            wanted,
        })
    }

    fn wanted(&self) -> MutexGuard<'_, BTreeMap<(String, String), BTreeSet<Holder>>> {
        self.0.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a subscribed uri covers a changed one, which may be a part of it.
fn covers(wanted: &str, uri: &str) -> bool {
    uri.strip_prefix(wanted).is_some_and(|rest| {
        rest.is_empty() || wanted.ends_with('/') || rest.starts_with(['/', '#', '?'])
    })
}

async fn renew(line: &Arc<Line>, server: String, uri: String) -> Result<(), Error> {
    line.session.require("subscribe")?;
    let request = SubscribeRequest {
        server,
        uri,
        subscribe: true,
    };
    let client = &line.session.client;
    client
        .subscribe(within_seconds(PATIENCE), request)
        .await
        .map_err(lost)?
}
