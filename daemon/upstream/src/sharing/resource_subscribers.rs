//! The clients that are notified when a resource of one slot changes.
//!
//! Invariant: a resource is listed here as long as a client follows it, regardless of the session.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use mux_caller::{ClientNotice, Mailbox};

/// The maximum number of resources that one connection may follow in one slot.
const MAX_FOLLOWED_RESOURCES: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct ResourceSubscribers(Mutex<BTreeMap<String, Vec<ResourceSubscriber>>>);

#[derive(Debug)]
struct ResourceSubscriber {
    mailbox: Arc<Mailbox>,
    workspace: Option<PathBuf>,
}

/// A subscriber that moves to another slot.
pub(crate) struct MovedSubscriber {
    uri: String,
    subscriber: ResourceSubscriber,
}

impl MovedSubscriber {
    pub(crate) fn workspace(&self) -> Option<&Path> {
        self.subscriber.workspace.as_deref()
    }
}

impl ResourceSubscribers {
    /// Adds a subscriber. Returns false if its connection follows too many resources.
    pub(crate) fn add_subscriber(
        &self,
        uri: &str,
        mailbox: &Arc<Mailbox>,
        workspace: Option<&Path>,
    ) -> bool {
        let mut all = self.0.lock();
        let is_it = |other: &ResourceSubscriber| other.mailbox.connection() == mailbox.connection();
        let is_known = all.get(uri).is_some_and(|all| all.iter().any(is_it));
        let own = all.values().flatten().filter(|other| is_it(other)).count();
        if is_known || own >= MAX_FOLLOWED_RESOURCES {
            return is_known;
        }
        let followers = all.entry(uri.to_owned()).or_default();
        followers.push(ResourceSubscriber {
            mailbox: Arc::clone(mailbox),
            workspace: workspace.map(Path::to_owned),
        });
        true
    }

    /// Removes a subscriber. Returns true if it was the last.
    pub(crate) fn remove_subscriber(&self, uri: &str, connection: u64) -> bool {
        let mut all = self.0.lock();
        let Some(followers) = all.get_mut(uri) else {
            return false;
        };
        let before = followers.len();
        followers.retain(|it| it.mailbox.connection() != connection);
        let left = followers.is_empty() && before > 0;
        if left {
            all.remove(uri);
        }
        left
    }

    /// The resources that a connection follows.
    pub(crate) fn followed_by(&self, connection: u64) -> Vec<String> {
        let all = self.0.lock();
        all.iter()
            .filter(|(_, followers)| {
                followers
                    .iter()
                    .any(|it| it.mailbox.connection() == connection)
            })
            .map(|(uri, _)| uri.clone())
            .collect()
    }

    pub(crate) fn has_subscriber(&self, uri: &str, connection: u64) -> bool {
        let all = self.0.lock();
        let followers = all.get(uri);
        followers.is_some_and(|followers| {
            let mut followers = followers.iter();
            followers.any(|it| it.mailbox.connection() == connection)
        })
    }

    /// True if any resource is followed.
    pub(crate) fn has_subscribers(&self) -> bool {
        !self.0.lock().is_empty()
    }

    /// Removes all subscriptions of a connection that has ended.
    pub(crate) fn forget(&self, connection: u64) {
        self.0.lock().retain(|_, followers| {
            followers.retain(|it| it.mailbox.connection() != connection);
            !followers.is_empty()
        });
    }

    /// Keeps the subscribers of this workspace and returns the others.
    pub(crate) fn split_off_other_workspaces(&self, workspace: &Path) -> Vec<MovedSubscriber> {
        let mut others = Vec::new();
        self.0.lock().retain(|uri, followers| {
            let is_other = |it: &mut ResourceSubscriber| it.workspace.as_deref() != Some(workspace);
            others.extend(
                followers
                    .extract_if(.., is_other)
                    .map(|subscriber| MovedSubscriber {
                        uri: uri.clone(),
                        subscriber,
                    }),
            );
            !followers.is_empty()
        });
        others
    }

    pub(crate) fn add_moved_subscriber(&self, other: &MovedSubscriber) {
        // The limit applied in the subscriber's former slot, too.
        _ = self.add_subscriber(&other.uri, &other.subscriber.mailbox, other.workspace());
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }

    pub(crate) fn notify_subscribers(&self, server: &str, uri: &str) {
        let all = self.0.lock();
        let followers = all.iter().filter(|(wanted, _)| covers_uri(wanted, uri));
        for it in followers.flat_map(|(_, followers)| followers) {
            it.mailbox.push_notice(ClientNotice::ResourceUpdated {
                server: server.to_owned(),
                uri: uri.to_owned(),
            });
        }
    }
}

/// True if an update of `uri` concerns a subscription to `wanted`: a server may report a part of the resource.
fn covers_uri(wanted: &str, uri: &str) -> bool {
    match uri.strip_prefix(wanted) {
        Some(rest) => rest.is_empty() || wanted.ends_with('/') || rest.starts_with(['/', '#', '?']),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_caller::ListChangeNotifier;

    #[test]
    fn update_of_a_part_covers_the_subscribed_resource() {
        for (wanted, uri, covered) in [
            ("a://x", "a://x", true),
            ("a://x", "a://x/y", true),
            ("a://x/", "a://x/y", true),
            ("a://x", "a://xy", false),
            ("a://x/y", "a://x", false),
        ] {
            assert_eq!(covers_uri(wanted, uri), covered, "{wanted} {uri}");
        }
    }

    #[test]
    fn last_subscriber_is_reported() {
        let news = ListChangeNotifier::default();
        let all = ResourceSubscribers::default();
        let one = Mailbox::new(1, Arc::default(), &news);
        let two = Mailbox::new(2, Arc::default(), &news);
        assert!(all.add_subscriber("a", &one, None));
        assert!(all.add_subscriber("a", &one, None));
        assert!(all.add_subscriber("a", &two, None));
        assert!(!all.remove_subscriber("a", 1));
        assert!(!all.remove_subscriber("a", 1));
        assert!(all.remove_subscriber("a", 2));
        assert!(!all.remove_subscriber("a", 2));
        assert!(all.uris().is_empty());
    }

    #[test]
    fn subscribers_of_other_workspaces_are_split_off() {
        let news = ListChangeNotifier::default();
        let all = ResourceSubscribers::default();
        let there = ResourceSubscribers::default();
        let here = Path::new("/here");
        let other = Path::new("/there");
        let one = Mailbox::new(1, Arc::default(), &news);
        let two = Mailbox::new(2, Arc::default(), &news);
        for (uri, mailbox, workspace) in [
            ("a", &one, Some(here)),
            ("a", &two, Some(other)),
            ("b", &two, Some(other)),
        ] {
            all.add_subscriber(uri, mailbox, workspace);
        }
        for parted in all.split_off_other_workspaces(here) {
            assert_eq!(parted.workspace(), Some(other));
            there.add_moved_subscriber(&parted);
        }
        assert!(all.has_subscriber("a", 1) && !all.has_subscriber("a", 2));
        assert_eq!(
            (all.uris(), there.followed_by(2)),
            (vec!["a".into()], vec!["a".to_owned(), "b".into()])
        );
    }

    #[test]
    fn followed_resources_per_connection_are_limited() {
        let all = ResourceSubscribers::default();
        let one = Mailbox::new(1, Arc::default(), &ListChangeNotifier::default());
        for n in 0..MAX_FOLLOWED_RESOURCES {
            assert!(all.add_subscriber(&n.to_string(), &one, None));
        }
        assert!(!all.add_subscriber("more", &one, None));
        assert_eq!(
            (all.uris().len(), all.followed_by(1).len()),
            (MAX_FOLLOWED_RESOURCES, MAX_FOLLOWED_RESOURCES)
        );
    }
}
