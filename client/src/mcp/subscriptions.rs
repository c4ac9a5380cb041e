//! Subscriptions to resources of servers.
//!
//! Invariant: subscriptions survive a restart of the daemon, because they are renewed with the next
//! daemon.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use mux_client::{rpc_error, within_seconds};
use mux_proto::{Error, MuxClient, SubscribeRequest};
use rmcp::ErrorData;

use super::{
    daemon_link::{DaemonConnection, DaemonLink},
    guide, listed_names,
    notification_receivers::ResourceUpdate,
    resources_and_prompts::{ResourcesAndPrompts, resource_error},
};

/// The timeout of a subscription, in seconds: the server may need to start first.
const SUBSCRIBE_TIMEOUT_SECONDS: u64 = 60;

/// The agent's subscriptions. Cheap to clone.
#[derive(Clone)]
pub(super) struct ResourceSubscriptions(Arc<ResourceSubscriptionsInner>);

struct ResourceSubscriptionsInner {
    link: DaemonLink,
    offers: ResourcesAndPrompts,
    /// The subscribers of each resource, by server and own uri.
    wanted: Mutex<BTreeMap<(String, String), BTreeSet<ResourceSubscriber>>>,
}

/// A subscriber of a resource: the agent (legacy era), or one subscription (modern era).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum ResourceSubscriber {
    Agent,
    Subscription(u64),
}

impl ResourceSubscriptions {
    pub(super) fn new(link: DaemonLink, offers: ResourcesAndPrompts) -> Self {
        Self(Arc::new(ResourceSubscriptionsInner {
            link,
            offers,
            wanted: Mutex::default(),
        }))
    }

    /// Subscribes to a resource, or unsubscribes from it.
    pub(super) async fn set_subscribed(
        &self,
        uri: &str,
        holder: ResourceSubscriber,
        subscribe: bool,
    ) -> Result<(), ErrorData> {
        let offers = &self.0.offers;
        // The guide never changes.
        if offers.has_guide() && uri == guide::GUIDE_URI {
            return Ok(());
        }
        let (server, own) = offers.resolve_resource(uri)?;
        let key = (server.clone(), own.clone());
        if !subscribe && !self.remove_subscriber(&key, holder) {
            return Ok(());
        }
        let request = SubscribeRequest {
            server,
            uri: own,
            subscribe,
        };
        let link = &self.0.link;
        let answer = link.request(SUBSCRIBE_TIMEOUT_SECONDS, request, MuxClient::subscribe);
        let answer = answer.await;
        answer.map_err(|error| resource_error(error, uri))?;
        if subscribe {
            self.lock_subscribers()
                .entry(key)
                .or_default()
                .insert(holder);
        }
        Ok(())
    }

    /// Removes a subscriber. Returns whether none is left.
    fn remove_subscriber(&self, key: &(String, String), holder: ResourceSubscriber) -> bool {
        let mut wanted = self.lock_subscribers();
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
    pub(super) async fn renew_all(&self, connection: &Arc<DaemonConnection>) {
        let wanted: Vec<_> = self.lock_subscribers().keys().cloned().collect();
        for (server, uri) in wanted {
            // A server that no longer exists sends no updates.
            drop(renew_subscription(connection, server, uri).await);
        }
    }

    /// A changed resource of a server as an update for the agent, or `None` without a subscription.
    pub(super) fn listed_update(&self, server: &str, uri: &str) -> Option<ResourceUpdate> {
        let shown = |own: &str| {
            if self.0.offers.is_single() {
                own.to_owned()
            } else {
                listed_names::listed_uri(server, own)
            }
        };
        let wanted = self.lock_subscribers();
        let all = wanted
            .keys()
            .filter(|(of, own)| of == server && uri_covers(own, uri));
        let wanted: Vec<String> = all.map(|(_, own)| shown(own)).collect();
        (!wanted.is_empty()).then(|| ResourceUpdate {
            uri: shown(uri),
            wanted,
        })
    }

    fn lock_subscribers(
        &self,
    ) -> MutexGuard<'_, BTreeMap<(String, String), BTreeSet<ResourceSubscriber>>> {
        self.0.wanted.lock()
    }
}

/// Returns true if a subscribed uri covers a changed uri, which may be a part of it.
fn uri_covers(wanted: &str, uri: &str) -> bool {
    uri.strip_prefix(wanted).is_some_and(|rest| {
        rest.is_empty() || wanted.ends_with('/') || rest.starts_with(['/', '#', '?'])
    })
}

async fn renew_subscription(
    connection: &Arc<DaemonConnection>,
    server: String,
    uri: String,
) -> Result<(), Error> {
    let request = SubscribeRequest {
        server,
        uri,
        subscribe: true,
    };
    let client = &connection.session.client;
    client
        .subscribe(within_seconds(SUBSCRIBE_TIMEOUT_SECONDS), request)
        .await
        .map_err(rpc_error)?
}
