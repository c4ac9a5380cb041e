//! Who is told when a resource of one server changes.
//!
//! Invariant: a resource stands here as long as somebody wants to hear of it, whatever becomes of the
//! session.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mux_caller::{ClientNotice, Mailbox};

/// Of one connection at one server.
const MAX_FOLLOWED_RESOURCES: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct ResourceSubscribers(Mutex<BTreeMap<String, Vec<ResourceSubscriber>>>);

#[derive(Debug)]
struct ResourceSubscriber {
    mailbox: Arc<Mailbox>,
    workspace: Option<PathBuf>,
}

/// One who stands with the subscribers of another session now.
pub(super) struct MovedSubscriber {
    uri: String,
    mailbox: Arc<Mailbox>,
    pub(super) workspace: Option<PathBuf>,
}

/// What an entry means for the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SubscriberAdded {
    /// It is the first.
    First,
    /// There are others, or it stood here already.
    Another,
    TooMany,
}

impl ResourceSubscribers {
    pub(super) fn add_subscriber(
        &self,
        uri: &str,
        mailbox: &Arc<Mailbox>,
        workspace: Option<&Path>,
    ) -> SubscriberAdded {
        let mut all = self.all();
        let is_it = |other: &ResourceSubscriber| other.mailbox.connection() == mailbox.connection();
        let own = all.values().flatten().filter(|other| is_it(other)).count();
        let those = all.entry(uri.to_owned()).or_default();
        if those.iter().any(is_it) {
            return SubscriberAdded::Another;
        }
        let first = those.is_empty();
        if own >= MAX_FOLLOWED_RESOURCES {
            if first {
                all.remove(uri);
            }
            return SubscriberAdded::TooMany;
        }
        those.push(ResourceSubscriber {
            mailbox: Arc::clone(mailbox),
            workspace: workspace.map(Path::to_owned),
        });
        match first {
            true => SubscriberAdded::First,
            false => SubscriberAdded::Another,
        }
    }

    /// Whether nobody is left.
    pub(super) fn remove_subscriber(&self, uri: &str, connection: u64) -> bool {
        let mut all = self.all();
        let Some(those) = all.get_mut(uri) else {
            return false;
        };
        let before = those.len();
        those.retain(|it| it.mailbox.connection() != connection);
        let left = those.is_empty() && before > 0;
        if left {
            all.remove(uri);
        }
        left
    }

    /// The resources of which a connection wants to hear.
    pub(super) fn followed_by(&self, connection: u64) -> Vec<String> {
        let all = self.all();
        all.iter()
            .filter(|(_, those)| those.iter().any(|it| it.mailbox.connection() == connection))
            .map(|(uri, _)| uri.clone())
            .collect()
    }

    pub(super) fn has_subscriber(&self, uri: &str, connection: u64) -> bool {
        let all = self.all();
        let those = all.get(uri);
        those.is_some_and(|those| {
            let mut those = those.iter();
            those.any(|it| it.mailbox.connection() == connection)
        })
    }

    /// Whether anybody wants to hear anything.
    pub(super) fn has_subscribers(&self) -> bool {
        !self.all().is_empty()
    }

    /// The connection has ended.
    pub(super) fn forget(&self, connection: u64) {
        self.all().retain(|_, those| {
            those.retain(|it| it.mailbox.connection() != connection);
            !those.is_empty()
        });
    }

    /// Only those of this workspace stay; gives the others.
    pub(super) fn split_off_other_workspaces(&self, workspace: &Path) -> Vec<MovedSubscriber> {
        let mut others = Vec::new();
        self.all().retain(|uri, those| {
            let is_other = |it: &mut ResourceSubscriber| it.workspace.as_deref() != Some(workspace);
            others.extend(those.extract_if(.., is_other).map(|it| MovedSubscriber {
                uri: uri.clone(),
                mailbox: it.mailbox,
                workspace: it.workspace,
            }));
            !those.is_empty()
        });
        others
    }

    pub(super) fn add_moved_subscriber(&self, other: MovedSubscriber) {
        // It had its place among as many.
        _ = self.add_subscriber(&other.uri, &other.mailbox, other.workspace.as_deref());
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.all().keys().cloned().collect()
    }

    pub(super) fn notify_subscribers(&self, server: &str, uri: &str) {
        let all = self.all();
        let those = all.iter().filter(|(wanted, _)| covers_uri(wanted, uri));
        for it in those.flat_map(|(_, those)| those) {
            it.mailbox.push_notice(ClientNotice::ResourceUpdated {
                server: server.to_owned(),
                uri: uri.to_owned(),
            });
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Vec<ResourceSubscriber>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server may tell of a part of what was subscribed to.
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
    fn a_part_of_a_resource_is_that_resource() {
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
    fn the_first_comes_and_the_last_goes() {
        let (news, all) = (
            ListChangeNotifier::default(),
            ResourceSubscribers::default(),
        );
        let (one, two) = (
            Mailbox::new(1, Arc::default(), &news),
            Mailbox::new(2, Arc::default(), &news),
        );
        assert_eq!(all.add_subscriber("a", &one, None), SubscriberAdded::First);
        assert_eq!(
            all.add_subscriber("a", &one, None),
            SubscriberAdded::Another
        );
        assert_eq!(
            all.add_subscriber("a", &two, None),
            SubscriberAdded::Another
        );
        assert!(!all.remove_subscriber("a", 1));
        assert!(!all.remove_subscriber("a", 1));
        assert!(all.remove_subscriber("a", 2));
        assert!(!all.remove_subscriber("a", 2));
        assert!(all.uris().is_empty());
    }

    #[test]
    fn those_of_a_workspace_stay_and_the_others_go_elsewhere() {
        let (news, all, there) = (
            ListChangeNotifier::default(),
            ResourceSubscribers::default(),
            ResourceSubscribers::default(),
        );
        let (here, other) = (Path::new("/here"), Path::new("/there"));
        let (one, two) = (
            Mailbox::new(1, Arc::default(), &news),
            Mailbox::new(2, Arc::default(), &news),
        );
        for (uri, mailbox, workspace) in [
            ("a", &one, Some(here)),
            ("a", &two, Some(other)),
            ("b", &two, Some(other)),
        ] {
            all.add_subscriber(uri, mailbox, workspace);
        }
        for parted in all.split_off_other_workspaces(here) {
            assert_eq!(parted.workspace.as_deref(), Some(other));
            there.add_moved_subscriber(parted);
        }
        assert!(all.has_subscriber("a", 1) && !all.has_subscriber("a", 2));
        assert_eq!(
            (all.uris(), there.followed_by(2)),
            (vec!["a".into()], vec!["a".to_owned(), "b".into()])
        );
    }

    #[test]
    fn a_connection_has_so_many() {
        let (all, one) = (
            ResourceSubscribers::default(),
            Mailbox::new(1, Arc::default(), &ListChangeNotifier::default()),
        );
        for n in 0..MAX_FOLLOWED_RESOURCES {
            assert_eq!(
                all.add_subscriber(&n.to_string(), &one, None),
                SubscriberAdded::First
            );
        }
        assert_eq!(
            all.add_subscriber("more", &one, None),
            SubscriberAdded::TooMany
        );
        assert_eq!(
            (all.uris().len(), all.followed_by(1).len()),
            (MAX_FOLLOWED_RESOURCES, MAX_FOLLOWED_RESOURCES)
        );
    }
}
