//! Resources that the agent wants to hear of.
//!
//! Invariant: what was asked for outlives the daemon that was asked; the next one is asked again.

use std::{
    collections::BTreeSet,
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
    /// Server and its own uri.
    wanted: Mutex<BTreeSet<(String, String)>>,
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
    pub(super) async fn set(&self, uri: &str, subscribe: bool) -> Result<(), ErrorData> {
        let offers = &self.0.offers;
        // It never changes.
        if offers.has_guide() && uri == guide::URI {
            return Ok(());
        }
        let (server, own) = offers.resource(uri)?;
        let request = SubscribeRequest {
            server: server.clone(),
            uri: own.clone(),
            subscribe,
        };
        let send = |client: MuxClient, request| async move {
            client.subscribe(within_seconds(PATIENCE), request).await
        };
        let asked = self.0.link.request("subscribe", request, send).await;
        asked.map_err(|error| not_found(error, uri))?;
        let mut wanted = self.wanted();
        match subscribe {
            true => drop(wanted.insert((server, own))),
            false => drop(wanted.remove(&(server, own))),
        }
        Ok(())
    }

    /// This daemon knows of none yet.
    pub(super) async fn renew(&self, line: &Arc<Line>) {
        let wanted = self.wanted().clone();
        for (server, uri) in wanted {
            // A server that is gone has nothing to tell.
            drop(renew(line, server, uri).await);
        }
    }

    /// A server's resource as the agent knows it, if it wants to hear of it.
    pub(super) fn shown(&self, server: &str, uri: &str) -> Option<String> {
        let wanted = (server.to_owned(), uri.to_owned());
        self.wanted().contains(&wanted).then(|| {
            if self.0.offers.is_single() {
                return uri.to_owned();
            }
            names::uri(server, uri)
        })
    }

    fn wanted(&self) -> MutexGuard<'_, BTreeSet<(String, String)>> {
        self.0.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
