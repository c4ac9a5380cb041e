//! What is kept, for whom, and in the order of its last use. It knows nothing of files.
//!
//! Invariant: `bytes` is the sum of all entries. Each entry has an owner, and stands once in the order of each of its
//! owners.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, SystemTime},
};

use super::{name::Name, owner::Owner};
use mux_process::monotonic_age::Age;

#[derive(Default)]
pub(super) struct Shelf {
    entries: HashMap<Name, Entry>,
    owners: HashMap<Owner, Share>,
    next: u64,
    bytes: u64,
}

/// What is kept for one owner.
#[derive(Default)]
struct Share {
    bytes: u64,
    /// By when they were used last.
    order: BTreeMap<u64, Name>,
}

struct Entry {
    bytes: u64,
    age: Age,
    used: u64,
    /// The content is what the name says.
    verified: bool,
    /// Whoever had the same value kept. It goes when none of them has room for it.
    owners: Vec<Owner>,
}

impl Entry {
    fn is_expired(&self, keep_for: Duration) -> bool {
        self.age.now() >= keep_for
    }
}

impl Shelf {
    /// For `owner`, beside those for whom it is kept already.
    pub(super) fn insert(
        &mut self,
        name: Name,
        owner: &Owner,
        (bytes, stored): (u64, SystemTime),
        verified: bool,
    ) {
        let mut owners = self.remove(&name);
        if !owners.contains(owner) {
            owners.push(owner.clone());
        }
        let used = self.step();
        for owner in &owners {
            let share = self.owners.entry(owner.clone()).or_default();
            share.bytes += bytes;
            share.order.insert(used, name.clone());
        }
        self.bytes += bytes;
        let entry = Entry {
            bytes,
            age: Age::since(stored),
            used,
            verified,
            owners,
        };
        self.entries.insert(name, entry);
    }

    /// Gives those for whom it was kept.
    pub(super) fn remove(&mut self, name: &Name) -> Vec<Owner> {
        let Some(entry) = self.entries.remove(name) else {
            return Vec::new();
        };
        for owner in &entry.owners {
            self.give_back(owner, entry.used, entry.bytes);
        }
        self.bytes -= entry.bytes;
        entry.owners
    }

    /// One value less is kept for this owner.
    fn give_back(&mut self, owner: &Owner, used: u64, bytes: u64) {
        if let Some(share) = self.owners.get_mut(owner) {
            share.order.remove(&used);
            share.bytes -= bytes;
            if share.order.is_empty() {
                self.owners.remove(owner);
            }
        }
    }

    /// Its length, and whether its content is known to be right. It has been used now.
    pub(super) fn touch(&mut self, name: &Name) -> Option<(u64, bool)> {
        let used = self.step();
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

    pub(super) fn is_verified(&self, name: &Name) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.verified)
    }

    pub(super) fn set_verified(&mut self, name: &Name) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.verified = true;
        }
    }

    /// Gives up values until so much more fits, for `owner`. Whoever would keep the most gives up what it used longest ago,
    /// so that a flood of values pushes out those of the owner who floods.
    pub(super) fn make_room(&mut self, more: u64, owner: &Owner, quota: u64) -> Vec<Name> {
        let mut given_up = Vec::new();
        while self.bytes.saturating_add(more) > quota {
            let wants = |of: &Owner| if of == owner { more } else { 0 };
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
            self.give_back(&of, used, bytes);
            if is_unclaimed {
                self.remove(&name);
                given_up.push(name);
            }
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
    use mux_caller::Origin;

    fn owner(agent: &str) -> Owner {
        Owner::of(&Origin::new("client", Some(agent), None))
    }

    /// Keeps a value of so many bytes for an owner, and gives what had to go.
    fn keep(shelf: &mut Shelf, name: &str, of: &Owner, bytes: u64, quota: u64) -> Vec<Name> {
        let gone = shelf.make_room(bytes, of, quota);
        shelf.insert(Name::of(name), of, (bytes, SystemTime::now()), true);
        gone
    }

    #[test]
    fn what_was_used_longest_ago_gives_way() {
        let [a, b, c] = ["a", "b", "c"].map(Name::of);
        let (mut shelf, us) = (Shelf::default(), owner("us"));
        let now = SystemTime::now();
        for name in [&a, &b, &c] {
            shelf.insert(name.clone(), &us, (10, now), true);
        }
        assert!(shelf.make_room(0, &us, 30).is_empty());
        assert_eq!(shelf.touch(&a), Some((10, true)));
        assert_eq!(shelf.make_room(5, &us, 30), [b]);
        shelf.insert(c.clone(), &us, (12, now), false);
        assert_eq!((shelf.bytes(), shelf.len()), (22, 2));
        assert_eq!(shelf.make_room(30, &us, 30), [a, c]);
        assert_eq!((shelf.bytes(), shelf.len()), (0, 0));
        assert!(shelf.owners.is_empty());
        assert!(shelf.make_room(u64::MAX, &us, 1).is_empty());
    }

    #[test]
    fn whoever_keeps_the_most_gives_way_and_not_who_kept_first() {
        let (mut shelf, quiet, greedy) = (Shelf::default(), owner("quiet"), owner("greedy"));
        keep(&mut shelf, "mine", &quiet, 40, 100);
        for number in 0..50 {
            let gone = keep(&mut shelf, &format!("flood {number}"), &greedy, 20, 100);
            assert!(!gone.contains(&Name::of("mine")));
        }
        assert_eq!((shelf.bytes(), shelf.len()), (100, 4));
        // The other way round there is room for an equal share.
        let gone = keep(&mut shelf, "mine too", &quiet, 10, 100);
        assert_eq!(gone, [Name::of("flood 47")]);
        // One alone may keep as much as there is.
        let mut shelf = Shelf::default();
        for number in 0..5 {
            assert!(keep(&mut shelf, &format!("{number}"), &greedy, 20, 100).is_empty());
        }
    }

    #[test]
    fn a_value_that_two_keep_stays_until_neither_has_room() {
        let (mut shelf, quiet, greedy) = (Shelf::default(), owner("quiet"), owner("greedy"));
        keep(&mut shelf, "same", &quiet, 40, 100);
        keep(&mut shelf, "same", &greedy, 40, 100);
        assert_eq!((shelf.bytes(), shelf.len()), (40, 1));
        for number in 0..10 {
            keep(&mut shelf, &format!("flood {number}"), &greedy, 20, 100);
        }
        assert_eq!(shelf.touch(&Name::of("same")), Some((40, true)));
        assert_eq!(shelf.remove(&Name::of("same")), [quiet]);
        let rest: u64 = shelf.owners.values().map(|share| share.bytes).sum();
        assert_eq!((rest, shelf.owners.len()), (shelf.bytes(), 1));
    }

    #[test]
    fn what_is_old_expires_and_what_is_of_the_future_is_new() {
        let [old, new, future] = ["old", "new", "future"].map(Name::of);
        let (mut shelf, hour) = (Shelf::default(), Duration::from_secs(3600));
        let (now, us) = (SystemTime::now(), owner("us"));
        shelf.insert(old.clone(), &us, (1, now - 2 * hour), true);
        shelf.insert(new, &us, (1, now), true);
        shelf.insert(future, &us, (1, now + 2 * hour), true);
        assert_eq!(shelf.expired(hour), [old]);
        assert_eq!(shelf.len(), 2);
        assert_eq!(shelf.expired(Duration::ZERO).len(), 2);
    }
}
