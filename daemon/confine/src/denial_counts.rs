//! The operations that a sandbox has denied a server, with their counts.
//!
//! Invariant: the server chooses the keys, so their number is limited.

use std::collections::{BTreeMap, btree_map::Entry};

use parking_lot::Mutex;

/// The number of keys remembered for each server.
const MAX_DENIALS: usize = 128;

/// A target that a sandbox denied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Denial<K> {
    pub target: K,
    pub count: u64,
}

/// The keys that were denied, and how many times each.
#[derive(Debug)]
pub(super) struct DenialCounts<K>(Mutex<BTreeMap<K, u64>>);

impl<K> Default for DenialCounts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord + Clone> DenialCounts<K> {
    /// Counts a denial. Returns true if its key is remembered now and was not before.
    pub(super) fn record(&self, key: K) -> bool {
        let mut known = self.0.lock();
        let has_room = known.len() < MAX_DENIALS;
        match known.entry(key) {
            Entry::Occupied(mut known) => *known.get_mut() += 1,
            Entry::Vacant(new) if has_room => {
                new.insert(1);
                return true;
            }
            Entry::Vacant(_) => {}
        }
        false
    }

    /// The remembered denials, in the order of their keys.
    pub(super) fn list(&self) -> Vec<Denial<K>> {
        let known = self.0.lock();
        let denials = known.iter().map(|(key, count)| Denial {
            target: key.clone(),
            count: *count,
        });
        denials.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_remembered_keys_is_limited() {
        let denials = DenialCounts::default();
        for key in 0..=MAX_DENIALS {
            assert_eq!(denials.record(key), key < MAX_DENIALS);
        }
        assert!(!denials.record(0));
        let listed = denials.list();
        assert_eq!(listed.len(), MAX_DENIALS);
        let first = [0, 1].map(|at: usize| (listed[at].target, listed[at].count));
        assert_eq!(first, [(0, 2), (1, 1)]);
    }
}
