//! What is kept, in the order of its last use. It knows nothing of files.
//!
//! Invariant: `bytes` is the sum of all entries, and each entry stands in `order` once.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, SystemTime},
};

use super::name::Name;
use crate::age::Age;

#[derive(Default)]
pub(super) struct Shelf {
    entries: HashMap<Name, Entry>,
    /// By when they were used last.
    order: BTreeMap<u64, Name>,
    next: u64,
    bytes: u64,
}

struct Entry {
    bytes: u64,
    age: Age,
    used: u64,
    /// The content is what the name says.
    verified: bool,
}

impl Entry {
    fn is_expired(&self, keep_for: Duration) -> bool {
        self.age.now() >= keep_for
    }
}

impl Shelf {
    pub(super) fn insert(&mut self, name: Name, bytes: u64, stored: SystemTime, verified: bool) {
        self.remove(&name);
        let used = self.step();
        self.order.insert(used, name.clone());
        self.bytes += bytes;
        let entry = Entry {
            bytes,
            age: Age::since(stored),
            used,
            verified,
        };
        self.entries.insert(name, entry);
    }

    pub(super) fn remove(&mut self, name: &Name) {
        if let Some(entry) = self.entries.remove(name) {
            self.order.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }

    /// Its length, and whether its content is known to be right. It has been used now.
    pub(super) fn touch(&mut self, name: &Name) -> Option<(u64, bool)> {
        let used = self.step();
        let entry = self.entries.get_mut(name)?;
        self.order.remove(&entry.used);
        self.order.insert(used, name.clone());
        entry.used = used;
        Some((entry.bytes, entry.verified))
    }

    pub(super) fn is_verified(&self, name: &Name) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.verified)
    }

    pub(super) fn set_verified(&mut self, name: &Name) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.verified = true;
        }
    }

    /// Gives up what was used longest ago, until so much more fits.
    pub(super) fn make_room(&mut self, more: u64, quota: u64) -> Vec<Name> {
        let mut given_up = Vec::new();
        while self.bytes.saturating_add(more) > quota
            && let Some(name) = self.order.values().next().cloned()
        {
            self.remove(&name);
            given_up.push(name);
        }
        given_up
    }

    /// Gives up what is older than this.
    pub(super) fn expired(&mut self, keep_for: Duration) -> Vec<Name> {
        let names: Vec<Name> = self.entries.keys().cloned().collect();
        names
            .iter()
            .filter_map(|name| self.expired_one(name, keep_for))
            .collect()
    }

    pub(super) fn expired_one(&mut self, name: &Name, keep_for: Duration) -> Option<Name> {
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

    fn step(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_gives_way() {
        let [a, b, c] = ["a", "b", "c"].map(Name::of);
        let mut shelf = Shelf::default();
        let now = SystemTime::now();
        for name in [&a, &b, &c] {
            shelf.insert(name.clone(), 10, now, true);
        }
        assert!(shelf.make_room(0, 30).is_empty());
        assert_eq!(shelf.touch(&a), Some((10, true)));
        assert_eq!(shelf.make_room(5, 30), [b]);
        shelf.insert(c.clone(), 12, now, false);
        assert_eq!((shelf.bytes(), shelf.len()), (22, 2));
        assert_eq!(shelf.make_room(30, 30), [a, c]);
        assert_eq!((shelf.bytes(), shelf.len()), (0, 0));
        assert!(shelf.make_room(u64::MAX, 1).is_empty());
    }

    #[test]
    fn what_is_old_expires_and_what_is_of_the_future_is_new() {
        let [old, new, future] = ["old", "new", "future"].map(Name::of);
        let (mut shelf, hour) = (Shelf::default(), Duration::from_secs(3600));
        let now = SystemTime::now();
        shelf.insert(old.clone(), 1, now - 2 * hour, true);
        shelf.insert(new, 1, now, true);
        shelf.insert(future, 1, now + 2 * hour, true);
        assert_eq!(shelf.expired(hour), [old]);
        assert_eq!(shelf.len(), 2);
        assert_eq!(shelf.expired(Duration::ZERO).len(), 2);
    }
}
