//! The cache where there is no disk: the oldest values make room for new ones.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::{Key, Space, sizes::MOST_IN_MEMORY};

#[derive(Default)]
pub(super) struct Memory {
    values: HashMap<(Space, Key), Kept>,
    /// In the order in which they came; one whose number is not the value's own is no longer there.
    order: VecDeque<(u64, Space, Key)>,
    next: u64,
    bytes: usize,
}

/// With its number in the order.
type Kept = (u64, Arc<Vec<u8>>);

impl Memory {
    pub(super) fn get(&self, space: Space, key: &Key) -> Option<Vec<u8>> {
        let (_, value) = self.values.get(&(space, *key))?;
        Some(value.to_vec())
    }

    pub(super) fn put(&mut self, space: Space, key: Key, value: Arc<Vec<u8>>) {
        self.remove(space, &key);
        self.next += 1;
        self.bytes += value.len();
        self.order.push_back((self.next, space, key));
        self.values.insert((space, key), (self.next, value));
        while self.bytes > MOST_IN_MEMORY || self.order.len() > 2 * self.values.len() + 64 {
            let Some((number, space, key)) = self.order.pop_front() else {
                return;
            };
            if self.bytes > MOST_IN_MEMORY && self.is(number, space, key) {
                self.remove(space, &key);
            } else if self.is(number, space, key) {
                self.order.push_back((number, space, key));
            }
        }
    }

    pub(super) fn remove(&mut self, space: Space, key: &Key) {
        if let Some((_, value)) = self.values.remove(&(space, *key)) {
            self.bytes -= value.len();
        }
    }

    pub(super) fn clear(&mut self, space: Space) {
        self.values.retain(|(of, _), (_, value)| {
            let stays = *of != space;
            if !stays {
                self.bytes -= value.len();
            }
            stays
        });
    }

    pub(super) fn all(&self, space: Space) -> Vec<(Key, Vec<u8>)> {
        let values = self.values.iter().filter(|((of, _), _)| *of == space);
        values
            .map(|((_, key), (_, value))| (*key, value.to_vec()))
            .collect()
    }

    fn is(&self, number: u64, space: Space, key: Key) -> bool {
        let found = self.values.get(&(space, key));
        found.is_some_and(|(own, _)| *own == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        *blake3::hash(&number.to_le_bytes()).as_bytes()
    }

    #[test]
    fn the_oldest_values_make_room() {
        let mut memory = Memory::default();
        let large = Arc::new(vec![1; MOST_IN_MEMORY / 4]);
        for number in 0..5 {
            memory.put(Space::Types, key(number), Arc::clone(&large));
        }
        assert_eq!(memory.get(Space::Types, &key(0)), None);
        for number in 1..5 {
            assert_eq!(
                memory.get(Space::Types, &key(number)).as_ref(),
                Some(&*large)
            );
        }
    }

    #[test]
    fn a_value_that_is_written_again_and_again_is_held_once() {
        let mut memory = Memory::default();
        for number in 0..10_000_usize {
            memory.put(
                Space::Shapes,
                key(0),
                Arc::new(number.to_le_bytes().to_vec()),
            );
        }
        memory.put(Space::Types, key(1), Arc::default());
        let last = 9_999_usize.to_le_bytes().to_vec();
        assert_eq!(memory.all(Space::Shapes), [(key(0), last)]);
        assert!(memory.order.len() < 100, "{}", memory.order.len());
        memory.clear(Space::Shapes);
        assert_eq!((memory.bytes, memory.all(Space::Shapes)), (0, vec![]));
        assert_eq!(memory.get(Space::Types, &key(1)), Some(vec![]));
    }
}
