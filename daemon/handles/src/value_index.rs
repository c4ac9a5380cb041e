//! What is kept, for whom, and in the order of its last use. It knows nothing of files.
//!
//! Invariant: `bytes` is the sum of all entries. Each entry has an owner, and stands once in the order of each of its
//! owners.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, SystemTime},
};

use super::{handle_name::HandleName, value_owner::ValueOwner};
use mux_process::monotonic_age::MonotonicAge;

#[derive(Default)]
pub(super) struct ValueIndex {
    entries: HashMap<HandleName, IndexEntry>,
    owners: HashMap<ValueOwner, OwnerShare>,
    next: u64,
    bytes: u64,
}

/// What is kept for one owner.
#[derive(Default)]
struct OwnerShare {
    bytes: u64,
    /// By when they were used last.
    order: BTreeMap<u64, HandleName>,
}

struct IndexEntry {
    bytes: u64,
    age: MonotonicAge,
    used: u64,
    /// The content is what the name says.
    verified: bool,
    /// Whoever had the same value kept. It goes when none of them has room for it.
    owners: Vec<ValueOwner>,
}

impl IndexEntry {
    fn is_expired(&self, keep_for: Duration) -> bool {
        self.age.now() >= keep_for
    }
}

impl ValueIndex {
    /// For `owner`, beside those for whom it is kept already.
    pub(super) fn insert(
        &mut self,
        name: HandleName,
        owner: &ValueOwner,
        (bytes, stored): (u64, SystemTime),
        verified: bool,
    ) {
        let mut owners = self.remove(&name);
        if !owners.contains(owner) {
            owners.push(owner.clone());
        }
        let used = self.next_use();
        for owner in &owners {
            let share = self.owners.entry(owner.clone()).or_default();
            share.bytes += bytes;
            share.order.insert(used, name.clone());
        }
        self.bytes += bytes;
        let entry = IndexEntry {
            bytes,
            age: MonotonicAge::since(stored),
            used,
            verified,
            owners,
        };
        self.entries.insert(name, entry);
    }

    /// Gives those for whom it was kept.
    pub(super) fn remove(&mut self, name: &HandleName) -> Vec<ValueOwner> {
        let Some(entry) = self.entries.remove(name) else {
            return Vec::new();
        };
        for owner in &entry.owners {
            self.release_share(owner, entry.used, entry.bytes);
        }
        self.bytes -= entry.bytes;
        entry.owners
    }

    /// One value less is kept for this owner.
    fn release_share(&mut self, owner: &ValueOwner, used: u64, bytes: u64) {
        if let Some(share) = self.owners.get_mut(owner) {
            share.order.remove(&used);
            share.bytes -= bytes;
            if share.order.is_empty() {
                self.owners.remove(owner);
            }
        }
    }

    /// Its length, and whether its content is known to be right. It has been used now.
    pub(super) fn touch(&mut self, name: &HandleName) -> Option<(u64, bool)> {
        let used = self.next_use();
        let entry = self.entries.get_mut(name)?;
        for owner in &entry.owners {
            if let Some(share) = self.owners.get_mut(owner) {
                share.order.remove(&entry.used);
                share.order.insert(used, name.clone());
            }
        }
        entry.used = used;
        Some((entry.bytes, entry.verified))
    }

    pub(super) fn is_verified(&self, name: &HandleName) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.verified)
    }

    pub(super) fn set_verified(&mut self, name: &HandleName) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.verified = true;
        }
    }

    /// Gives up values until so much more fits, for `owner`. Whoever would keep the most gives up what it used longest ago,
    /// so that a flood of values pushes out those of the owner who floods.
    pub(super) fn evict_until_fits(
        &mut self,
        more: u64,
        owner: &ValueOwner,
        quota: u64,
    ) -> Vec<HandleName> {
        let mut given_up = Vec::new();
        while self.bytes.saturating_add(more) > quota {
            let wants = |of: &ValueOwner| if of == owner { more } else { 0 };
            let shares = self.owners.iter();
            let most =
                shares.max_by_key(|(of, share)| (share.bytes.saturating_add(wants(of)), *of));
            let Some((of, share)) = most else { break };
            let Some((used, name)) = share.order.first_key_value() else {
                break;
            };
            let (of, used, name) = (of.clone(), *used, name.clone());
            let Some(entry) = self.entries.get_mut(&name) else {
                break;
            };
            entry.owners.retain(|other| *other != of);
            let (bytes, is_unclaimed) = (entry.bytes, entry.owners.is_empty());
            self.release_share(&of, used, bytes);
            if is_unclaimed {
                self.remove(&name);
                given_up.push(name);
            }
        }
        given_up
    }

    /// Gives up what is older than this.
    pub(super) fn take_expired(&mut self, keep_for: Duration) -> Vec<HandleName> {
        let names: Vec<HandleName> = self.entries.keys().cloned().collect();
        names
            .iter()
            .filter_map(|name| self.take_if_expired(name, keep_for))
            .collect()
    }

    pub(super) fn take_if_expired(
        &mut self,
        name: &HandleName,
        keep_for: Duration,
    ) -> Option<HandleName> {
        self.entries.get(name)?.is_expired(keep_for).then(|| {
            self.remove(name);
            name.clone()
        })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn next_use(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_caller::ClientOrigin;

    fn owner(agent: &str) -> ValueOwner {
        ValueOwner::of(&ClientOrigin::new("client", Some(agent), None))
    }

    /// Keeps a value of so many bytes for an owner, and gives what had to go.
    fn keep(
        shelf: &mut ValueIndex,
        name: &str,
        of: &ValueOwner,
        bytes: u64,
        quota: u64,
    ) -> Vec<HandleName> {
        let gone = shelf.evict_until_fits(bytes, of, quota);
        shelf.insert(HandleName::of(name), of, (bytes, SystemTime::now()), true);
        gone
    }

    #[test]
    fn what_was_used_longest_ago_gives_way() {
        let [a, b, c] = ["a", "b", "c"].map(HandleName::of);
        let (mut shelf, us) = (ValueIndex::default(), owner("us"));
        let now = SystemTime::now();
        for name in [&a, &b, &c] {
            shelf.insert(name.clone(), &us, (10, now), true);
        }
        assert!(shelf.evict_until_fits(0, &us, 30).is_empty());
        assert_eq!(shelf.touch(&a), Some((10, true)));
        assert_eq!(shelf.evict_until_fits(5, &us, 30), [b]);
        shelf.insert(c.clone(), &us, (12, now), false);
        assert_eq!((shelf.bytes(), shelf.len()), (22, 2));
        assert_eq!(shelf.evict_until_fits(30, &us, 30), [a, c]);
        assert_eq!((shelf.bytes(), shelf.len()), (0, 0));
        assert!(shelf.owners.is_empty());
        assert!(shelf.evict_until_fits(u64::MAX, &us, 1).is_empty());
    }

    #[test]
    fn whoever_keeps_the_most_gives_way_and_not_who_kept_first() {
        let (mut shelf, quiet, greedy) = (ValueIndex::default(), owner("quiet"), owner("greedy"));
        keep(&mut shelf, "mine", &quiet, 40, 100);
        for number in 0..50 {
            let gone = keep(&mut shelf, &format!("flood {number}"), &greedy, 20, 100);
            assert!(!gone.contains(&HandleName::of("mine")));
        }
        assert_eq!((shelf.bytes(), shelf.len()), (100, 4));
        // The other way round there is room for an equal share.
        let gone = keep(&mut shelf, "mine too", &quiet, 10, 100);
        assert_eq!(gone, [HandleName::of("flood 47")]);
        // One alone may keep as much as there is.
        let mut shelf = ValueIndex::default();
        for number in 0..5 {
            assert!(keep(&mut shelf, &format!("{number}"), &greedy, 20, 100).is_empty());
        }
    }

    #[test]
    fn a_value_that_two_keep_stays_until_neither_has_room() {
        let (mut shelf, quiet, greedy) = (ValueIndex::default(), owner("quiet"), owner("greedy"));
        keep(&mut shelf, "same", &quiet, 40, 100);
        keep(&mut shelf, "same", &greedy, 40, 100);
        assert_eq!((shelf.bytes(), shelf.len()), (40, 1));
        for number in 0..10 {
            keep(&mut shelf, &format!("flood {number}"), &greedy, 20, 100);
        }
        assert_eq!(shelf.touch(&HandleName::of("same")), Some((40, true)));
        assert_eq!(shelf.remove(&HandleName::of("same")), [quiet]);
        let rest: u64 = shelf.owners.values().map(|share| share.bytes).sum();
        assert_eq!((rest, shelf.owners.len()), (shelf.bytes(), 1));
    }

    #[test]
    fn what_is_old_expires_and_what_is_of_the_future_is_new() {
        let [old, new, future] = ["old", "new", "future"].map(HandleName::of);
        let (mut shelf, hour) = (ValueIndex::default(), Duration::from_secs(3600));
        let (now, us) = (SystemTime::now(), owner("us"));
        shelf.insert(old.clone(), &us, (1, now - 2 * hour), true);
        shelf.insert(new, &us, (1, now), true);
        shelf.insert(future, &us, (1, now + 2 * hour), true);
        assert_eq!(shelf.take_expired(hour), [old]);
        assert_eq!(shelf.len(), 2);
        assert_eq!(shelf.take_expired(Duration::ZERO).len(), 2);
    }
}
