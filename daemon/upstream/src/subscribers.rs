//! Who is told when a resource of one server changes.
//!
//! Invariant: a resource stands here as long as somebody wants to hear of it, whatever becomes of the
//! session.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mux_caller::{Mailbox, Notice};

/// Of one connection at one server.
const MOST: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Subscribers(Mutex<BTreeMap<String, Vec<Follower>>>);

#[derive(Debug)]
struct Follower {
    mailbox: Arc<Mailbox>,
    workspace: Option<PathBuf>,
}

/// One who stands with the subscribers of another session now.
pub(super) struct Parted {
    uri: String,
    mailbox: Arc<Mailbox>,
    pub(super) workspace: Option<PathBuf>,
}

/// What an entry means for the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Entered {
    /// It is the first.
    First,
    /// There are others, or it stood here already.
    Another,
    TooMany,
}

impl Subscribers {
    pub(super) fn enter(
        &self,
        uri: &str,
        mailbox: &Arc<Mailbox>,
        workspace: Option<&Path>,
    ) -> Entered {
        let mut all = self.all();
        let is_it = |other: &Follower| other.mailbox.connection() == mailbox.connection();
        let own = all.values().flatten().filter(|other| is_it(other)).count();
        let those = all.entry(uri.to_owned()).or_default();
        if those.iter().any(is_it) {
            return Entered::Another;
        }
        let first = those.is_empty();
        if own >= MOST {
            if first {
                all.remove(uri);
            }
            return Entered::TooMany;
        }
        those.push(Follower {
            mailbox: Arc::clone(mailbox),
            workspace: workspace.map(Path::to_owned),
        });
        match first {
            true => Entered::First,
            false => Entered::Another,
        }
    }

    /// Whether nobody is left.
    pub(super) fn leave(&self, uri: &str, connection: u64) -> bool {
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
    pub(super) fn of(&self, connection: u64) -> Vec<String> {
        let all = self.all();
        all.iter()
            .filter(|(_, those)| those.iter().any(|it| it.mailbox.connection() == connection))
            .map(|(uri, _)| uri.clone())
            .collect()
    }

    pub(super) fn has(&self, uri: &str, connection: u64) -> bool {
        let all = self.all();
        let those = all.get(uri);
        those.is_some_and(|those| {
            let mut those = those.iter();
            those.any(|it| it.mailbox.connection() == connection)
        })
    }

    /// Whether anybody wants to hear anything.
    pub(super) fn any(&self) -> bool {
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
    pub(super) fn part(&self, workspace: &Path) -> Vec<Parted> {
        let mut others = Vec::new();
        self.all().retain(|uri, those| {
            let is_other = |it: &mut Follower| it.workspace.as_deref() != Some(workspace);
            others.extend(those.extract_if(.., is_other).map(|it| Parted {
                uri: uri.clone(),
                mailbox: it.mailbox,
                workspace: it.workspace,
            }));
            !those.is_empty()
        });
        others
    }

    pub(super) fn take(&self, other: Parted) {
        // It had its place among as many.
        _ = self.enter(&other.uri, &other.mailbox, other.workspace.as_deref());
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.all().keys().cloned().collect()
    }

    pub(super) fn tell(&self, server: &str, uri: &str) {
        let all = self.all();
        let those = all.iter().filter(|(wanted, _)| covers(wanted, uri));
        for it in those.flat_map(|(_, those)| those) {
            it.mailbox.tell(Notice::ResourceUpdated {
                server: server.to_owned(),
                uri: uri.to_owned(),
            });
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Follower>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server may tell of a part of what was subscribed to.
fn covers(wanted: &str, uri: &str) -> bool {
    match uri.strip_prefix(wanted) {
        Some(rest) => rest.is_empty() || wanted.ends_with('/') || rest.starts_with(['/', '#', '?']),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_caller::News;

    #[test]
    fn a_part_of_a_resource_is_that_resource() {
        for (wanted, uri, covered) in [
            ("a://x", "a://x", true),
            ("a://x", "a://x/y", true),
            ("a://x/", "a://x/y", true),
            ("a://x", "a://xy", false),
            ("a://x/y", "a://x", false),
        ] {
            assert_eq!(covers(wanted, uri), covered, "{wanted} {uri}");
        }
    }

    #[test]
    fn the_first_comes_and_the_last_goes() {
        let (news, all) = (News::default(), Subscribers::default());
        let (one, two) = (
            Mailbox::new(1, Arc::default(), &news),
            Mailbox::new(2, Arc::default(), &news),
        );
        assert_eq!(all.enter("a", &one, None), Entered::First);
        assert_eq!(all.enter("a", &one, None), Entered::Another);
        assert_eq!(all.enter("a", &two, None), Entered::Another);
        assert!(!all.leave("a", 1));
        assert!(!all.leave("a", 1));
        assert!(all.leave("a", 2));
        assert!(!all.leave("a", 2));
        assert!(all.uris().is_empty());
    }

    #[test]
    fn those_of_a_workspace_stay_and_the_others_go_elsewhere() {
        let (news, all, there) = (
            News::default(),
            Subscribers::default(),
            Subscribers::default(),
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
            all.enter(uri, mailbox, workspace);
        }
        for parted in all.part(here) {
            assert_eq!(parted.workspace.as_deref(), Some(other));
            there.take(parted);
        }
        assert!(all.has("a", 1) && !all.has("a", 2));
        assert_eq!(
            (all.uris(), there.of(2)),
            (vec!["a".into()], vec!["a".to_owned(), "b".into()])
        );
    }

    #[test]
    fn a_connection_has_so_many() {
        let (all, one) = (
            Subscribers::default(),
            Mailbox::new(1, Arc::default(), &News::default()),
        );
        for n in 0..MOST {
            assert_eq!(all.enter(&n.to_string(), &one, None), Entered::First);
        }
        assert_eq!(all.enter("more", &one, None), Entered::TooMany);
        assert_eq!((all.uris().len(), all.of(1).len()), (MOST, MOST));
    }
}
