//! Resources that the agent wants to hear of.
//!
//! Invariant: what was asked for outlives the daemon that was asked; the next one is asked again.

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

/// The server may have to be started.
const PATIENCE: u64 = 60;

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Subscriptions(Arc<Inner>);

struct Inner {
    link: Link,
    offers: Offers,
    /// Who wants to hear of a resource, by server and its own uri.
    wanted: Mutex<BTreeMap<(String, String), BTreeSet<Holder>>>,
}

/// On whose behalf a resource is followed: the agent's, or one subscription's of the second era.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Holder {
    Agent,
    Subscription(u64),
}

/// A resource that has changed, by the uris that the agent knows.
#[derive(Debug, PartialEq)]
pub(super) struct Update {
    pub(super) uri: String,
    /// What was subscribed to, which may be more than what has changed.
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

    /// Begins or ends to tell of a resource.
    pub(super) async fn set(
        &self,
        uri: &str,
        holder: Holder,
        subscribe: bool,
    ) -> Result<(), ErrorData> {
        let offers = &self.0.offers;
        // It never changes.
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

    /// Whether nobody wants to hear of it any more.
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

    /// This daemon knows of none yet.
    pub(super) async fn renew(&self, line: &Arc<Line>) {
        let wanted: Vec<_> = self.wanted().keys().cloned().collect();
        for (server, uri) in wanted {
            // A server that is gone has nothing to tell.
            drop(renew(line, server, uri).await);
        }
    }

    /// A server's resource as the agent knows it, if it wants to hear of it.
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

/// A server may tell of a part of what was subscribed to.
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
