//! The cache without a disk: new values replace the oldest ones.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::{CacheSpace, DigestKey, limits::MAX_MEMORY_BYTES};

#[derive(Default)]
pub(super) struct MemoryStore {
    values: HashMap<(CacheSpace, DigestKey), NumberedValue>,
    /// The order of insertion. An entry is stale if its number is not that of the value.
    order: VecDeque<(u64, CacheSpace, DigestKey)>,
    next: u64,
    bytes: usize,
}

/// A value with its number in the order.
type NumberedValue = (u64, Arc<Vec<u8>>);

impl MemoryStore {
    pub(super) fn get(&self, space: CacheSpace, key: &DigestKey) -> Option<Vec<u8>> {
        let (_, value) = self.values.get(&(space, *key))?;
        Some(value.to_vec())
    }

    pub(super) fn put(&mut self, space: CacheSpace, key: DigestKey, value: Arc<Vec<u8>>) {
        self.remove(space, &key);
        self.next += 1;
        self.bytes += value.len();
        self.order.push_back((self.next, space, key));
        self.values.insert((space, key), (self.next, value));
        while self.bytes > MAX_MEMORY_BYTES || self.order.len() > 2 * self.values.len() + 64 {
            let Some((number, space, key)) = self.order.pop_front() else {
                return;
            };
            if self.bytes > MAX_MEMORY_BYTES && self.is(number, space, key) {
                self.remove(space, &key);
            } else if self.is(number, space, key) {
                self.order.push_back((number, space, key));
            }
        }
    }

    pub(super) fn remove(&mut self, space: CacheSpace, key: &DigestKey) {
        if let Some((_, value)) = self.values.remove(&(space, *key)) {
            self.bytes -= value.len();
        }
    }

    pub(super) fn clear(&mut self, space: CacheSpace) {
        self.values.retain(|(of, _), (_, value)| {
            let stays = *of != space;
            if !stays {
                self.bytes -= value.len();
            }
            stays
        });
    }

    pub(super) fn all(&self, space: CacheSpace) -> Vec<(DigestKey, Vec<u8>)> {
        let values = self.values.iter().filter(|((of, _), _)| *of == space);
        values
            .map(|((_, key), (_, value))| (*key, value.to_vec()))
            .collect()
    }

    fn is(&self, number: u64, space: CacheSpace, key: DigestKey) -> bool {
        let found = self.values.get(&(space, key));
        found.is_some_and(|(own, _)| *own == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> DigestKey {
        *blake3::hash(&number.to_le_bytes()).as_bytes()
    }

    #[test]
    fn oldest_values_are_evicted() {
        let mut memory = MemoryStore::default();
        let large = Arc::new(vec![1; MAX_MEMORY_BYTES / 4]);
        for number in 0..5 {
            memory.put(CacheSpace::Types, key(number), Arc::clone(&large));
        }
        assert_eq!(memory.get(CacheSpace::Types, &key(0)), None);
        for number in 1..5 {
            assert_eq!(
                memory.get(CacheSpace::Types, &key(number)).as_ref(),
                Some(&*large)
            );
        }
    }

    #[test]
    fn value_that_is_overwritten_is_held_once() {
        let mut memory = MemoryStore::default();
        for number in 0..10_000_usize {
            memory.put(
                CacheSpace::Shapes,
                key(0),
                Arc::new(number.to_le_bytes().to_vec()),
            );
        }
        memory.put(CacheSpace::Types, key(1), Arc::default());
        let last = 9_999_usize.to_le_bytes().to_vec();
        assert_eq!(memory.all(CacheSpace::Shapes), [(key(0), last)]);
        assert!(memory.order.len() < 100, "{}", memory.order.len());
        memory.clear(CacheSpace::Shapes);
        assert_eq!((memory.bytes, memory.all(CacheSpace::Shapes)), (0, vec![]));
        assert_eq!(memory.get(CacheSpace::Types, &key(1)), Some(vec![]));
    }
}
