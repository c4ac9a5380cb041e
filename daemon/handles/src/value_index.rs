//! The index of stored values: their owners and their order of last use. This module does not access files.
//!
//! Invariant: `bytes` is the sum of all entries. Each entry has an owner, and is once in the order of each of its
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

/// The values of one owner.
#[derive(Default)]
struct OwnerShare {
    bytes: u64,
    /// The values in order of last use.
    order: BTreeMap<u64, HandleName>,
}

struct IndexEntry {
    bytes: u64,
    age: MonotonicAge,
    used: u64,
    /// Whether the content is known to match the name.
    verified: bool,
    /// All owners that stored this value. The value is evicted when none of them has room for it.
    owners: Vec<ValueOwner>,
}

impl IndexEntry {
    fn is_expired(&self, keep_for: Duration) -> bool {
        self.age.now() >= keep_for
    }
}

impl ValueIndex {
    /// Adds a value, or adds `owner` to the owners of an existing one.
    pub(super) fn insert(
        &mut self,
        name: HandleName,
        owner: &ValueOwner,
        bytes: u64,
        stored: SystemTime,
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

    /// Removes a value and returns its owners.
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

    /// Removes a value from the share of this owner.
    fn release_share(&mut self, owner: &ValueOwner, used: u64, bytes: u64) {
        if let Some(share) = self.owners.get_mut(owner) {
            share.order.remove(&used);
            share.bytes -= bytes;
            if share.order.is_empty() {
                self.owners.remove(owner);
            }
        }
    }

    /// Marks a value as used. Returns its length, and whether its content is verified.
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

    /// Evicts values until `more` bytes of `owner` fit. The owner that would have the largest share loses its least
    /// recently used values, which makes a flood of values evict only its owner's values.
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
            let of = of.clone();
            let used = *used;
            let name = name.clone();
            let Some(entry) = self.entries.get_mut(&name) else {
                break;
            };
            entry.owners.retain(|other| *other != of);
            let bytes = entry.bytes;
            let is_unclaimed = entry.owners.is_empty();
            self.release_share(&of, used, bytes);
            if is_unclaimed {
                self.remove(&name);
                given_up.push(name);
            }
        }
        given_up
    }

    /// Removes and returns the values older than `keep_for`.
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

    /// Inserts a value of `bytes` for an owner. Returns the evicted values.
    fn keep(
        index: &mut ValueIndex,
        name: &str,
        of: &ValueOwner,
        bytes: u64,
        quota: u64,
    ) -> Vec<HandleName> {
        let gone = index.evict_until_fits(bytes, of, quota);
        index.insert(HandleName::of(name), of, bytes, SystemTime::now(), true);
        gone
    }

    #[test]
    fn least_recently_used_value_is_evicted() {
        let [a, b, c] = ["a", "b", "c"].map(HandleName::of);
        let mut index = ValueIndex::default();
        let us = owner("us");
        let now = SystemTime::now();
        for name in [&a, &b, &c] {
            index.insert(name.clone(), &us, 10, now, true);
        }
        assert!(index.evict_until_fits(0, &us, 30).is_empty());
        assert_eq!(index.touch(&a), Some((10, true)));
        assert_eq!(index.evict_until_fits(5, &us, 30), [b]);
        index.insert(c.clone(), &us, 12, now, false);
        assert_eq!((index.bytes(), index.len()), (22, 2));
        assert_eq!(index.evict_until_fits(30, &us, 30), [a, c]);
        assert_eq!((index.bytes(), index.len()), (0, 0));
        assert!(index.owners.is_empty());
        assert!(index.evict_until_fits(u64::MAX, &us, 1).is_empty());
    }

    #[test]
    fn owner_with_the_largest_share_is_evicted_first() {
        let mut index = ValueIndex::default();
        let quiet = owner("quiet");
        let greedy = owner("greedy");
        keep(&mut index, "mine", &quiet, 40, 100);
        for number in 0..50 {
            let gone = keep(&mut index, &format!("flood {number}"), &greedy, 20, 100);
            assert!(!gone.contains(&HandleName::of("mine")));
        }
        assert_eq!((index.bytes(), index.len()), (100, 4));
        // The owner with the smaller share gets room from the larger one.
        let gone = keep(&mut index, "mine too", &quiet, 10, 100);
        assert_eq!(gone, [HandleName::of("flood 47")]);
        // A single owner may use the whole quota.
        let mut index = ValueIndex::default();
        for number in 0..5 {
            assert!(keep(&mut index, &format!("{number}"), &greedy, 20, 100).is_empty());
        }
    }

    #[test]
    fn shared_value_stays_until_no_owner_has_room() {
        let mut index = ValueIndex::default();
        let quiet = owner("quiet");
        let greedy = owner("greedy");
        keep(&mut index, "same", &quiet, 40, 100);
        keep(&mut index, "same", &greedy, 40, 100);
        assert_eq!((index.bytes(), index.len()), (40, 1));
        for number in 0..10 {
            keep(&mut index, &format!("flood {number}"), &greedy, 20, 100);
        }
        assert_eq!(index.touch(&HandleName::of("same")), Some((40, true)));
        assert_eq!(index.remove(&HandleName::of("same")), [quiet]);
        let rest: u64 = index.owners.values().map(|share| share.bytes).sum();
        assert_eq!((rest, index.owners.len()), (index.bytes(), 1));
    }

    #[test]
    fn old_values_expire_and_future_timestamps_count_as_new() {
        let [old, new, future] = ["old", "new", "future"].map(HandleName::of);
        let mut index = ValueIndex::default();
        let hour = Duration::from_hours(1);
        let now = SystemTime::now();
        let us = owner("us");
        index.insert(old.clone(), &us, 1, now - 2 * hour, true);
        index.insert(new, &us, 1, now, true);
        index.insert(future, &us, 1, now + 2 * hour, true);
        assert_eq!(index.take_expired(hour), [old]);
        assert_eq!(index.len(), 2);
        assert_eq!(index.take_expired(Duration::ZERO).len(), 2);
    }
}
