//! The cache without a disk: new values replace the oldest ones.

use std::sync::Arc;

use lru::LruCache;

use super::{CacheSpace, DigestKey, limits::MAX_MEMORY_BYTES};

pub(super) struct MemoryStore {
    /// In the order of insertion: reading a value does not change its position.
    values: LruCache<(CacheSpace, DigestKey), Arc<Vec<u8>>>,
    bytes: usize,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            values: LruCache::unbounded(),
            bytes: 0,
        }
    }
}

impl MemoryStore {
    pub(super) fn get(&self, space: CacheSpace, key: &DigestKey) -> Option<Vec<u8>> {
        let value = self.values.peek(&(space, *key))?;
        Some(value.to_vec())
    }

    pub(super) fn put(&mut self, space: CacheSpace, key: DigestKey, value: Arc<Vec<u8>>) {
        self.bytes += value.len();
        if let Some(replaced) = self.values.put((space, key), value) {
            self.bytes -= replaced.len();
        }
        while self.bytes > MAX_MEMORY_BYTES
            && let Some((_, oldest)) = self.values.pop_lru()
        {
            self.bytes -= oldest.len();
        }
    }

    pub(super) fn remove(&mut self, space: CacheSpace, key: &DigestKey) {
        if let Some(value) = self.values.pop(&(space, *key)) {
            self.bytes -= value.len();
        }
    }

    pub(super) fn clear(&mut self, space: CacheSpace) {
        let values = self.values.iter().filter(|((of, _), _)| *of == space);
        let keys: Vec<DigestKey> = values.map(|((_, key), _)| *key).collect();
        for key in keys {
            self.remove(space, &key);
        }
    }

    pub(super) fn all(&self, space: CacheSpace) -> Vec<(DigestKey, Vec<u8>)> {
        let values = self.values.iter().filter(|((of, _), _)| *of == space);
        values
            .map(|((_, key), value)| (*key, value.to_vec()))
            .collect()
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
        memory.clear(CacheSpace::Shapes);
        assert_eq!((memory.bytes, memory.all(CacheSpace::Shapes)), (0, vec![]));
        assert_eq!(memory.get(CacheSpace::Types, &key(1)), Some(vec![]));
    }
}
