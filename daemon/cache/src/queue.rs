//! What waits to be written, in order, and can be read meanwhile.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;

use super::{
    Key, Space,
    sizes::{MOST_WAITING, MOST_WRITES},
};

/// What is to be done with the store, in the order in which it was asked for.
pub(super) enum Write {
    /// Puts or removes what waits under this key, unless something newer waits there.
    Entry(Space, Key, u64),
    Clear(Space, oneshot::Sender<()>),
    All(Space, oneshot::Sender<Vec<(Key, Vec<u8>)>>),
    Flush(oneshot::Sender<()>),
}

/// A value, or that there is none any more.
pub(super) type Waiting = Option<Arc<Vec<u8>>>;

#[derive(Default)]
pub(super) struct Queue {
    order: VecDeque<Write>,
    /// With the number of the write that will take it.
    waiting: HashMap<(Space, Key), (u64, Waiting)>,
    bytes: usize,
    next: u64,
}

impl Queue {
    /// False if it is full: then what was there before stays.
    pub(super) fn enter(&mut self, space: Space, key: Key, value: Waiting) -> bool {
        let length = value.as_ref().map_or(0, |value| value.len());
        if self.order.len() >= MOST_WRITES || self.bytes + length > MOST_WAITING {
            return false;
        }
        self.next += 1;
        self.bytes += length;
        let before = self.waiting.insert((space, key), (self.next, value));
        self.bytes -= before.map_or(0, |(_, value)| size(&value));
        self.order.push_back(Write::Entry(space, key, self.next));
        true
    }

    /// Only those who wait for the answer ask so, and they are few.
    pub(super) fn ask(&mut self, write: Write) {
        if let Write::Clear(space, _) = write {
            self.drop_waiting(|of| of == space);
        }
        self.order.push_back(write);
    }

    /// What will stand under this key; `None` if nothing waits there.
    pub(super) fn waiting(&self, space: Space, key: &Key) -> Option<Waiting> {
        let (_, value) = self.waiting.get(&(space, *key))?;
        Some(value.clone())
    }

    pub(super) fn pop(&mut self) -> Option<Write> {
        self.order.pop_front()
    }

    /// What this write is about, unless a newer one has taken its place.
    pub(super) fn content(&self, space: Space, key: &Key, number: u64) -> Option<Waiting> {
        let (newest, value) = self.waiting.get(&(space, *key))?;
        (*newest == number).then(|| value.clone())
    }

    /// It is in the store now, or lost.
    pub(super) fn done(&mut self, space: Space, key: &Key, number: u64) {
        if self.content(space, key, number).is_some() {
            self.drop_key(space, key);
        }
    }

    /// All that waits, when nobody will write it any more; whoever waits for an answer gets none.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (Space, Key, Waiting)> + use<> {
        let queue = std::mem::take(self);
        let waiting = queue.waiting.into_iter();
        waiting.map(|((space, key), (_, value))| (space, key, value))
    }

    fn drop_key(&mut self, space: Space, key: &Key) {
        if let Some((_, value)) = self.waiting.remove(&(space, *key)) {
            self.bytes -= size(&value);
        }
    }

    fn drop_waiting(&mut self, goes: impl Fn(Space) -> bool) {
        let Self { waiting, bytes, .. } = self;
        waiting.retain(|(space, _), (_, value)| {
            let stays = !goes(*space);
            if !stays {
                *bytes -= size(value);
            }
            stays
        });
    }
}

fn size(value: &Waiting) -> usize {
    value.as_ref().map_or(0, |value| value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = [1; 32];

    fn value(text: &str) -> Waiting {
        Some(Arc::new(text.into()))
    }

    fn content(queue: &mut Queue) -> Option<Waiting> {
        let Some(Write::Entry(space, key, number)) = queue.pop() else {
            return None;
        };
        let content = queue.content(space, &key, number);
        queue.done(space, &key, number);
        content
    }

    #[test]
    fn of_two_writes_of_one_key_the_newer_one_counts() {
        let mut queue = Queue::default();
        assert!(queue.enter(Space::Types, KEY, value("old")));
        assert!(queue.enter(Space::Types, KEY, value("new")));
        assert_eq!(queue.waiting(Space::Types, &KEY), Some(value("new")));
        assert_eq!(content(&mut queue), None);
        assert_eq!(content(&mut queue), Some(value("new")));
        assert_eq!((queue.waiting(Space::Types, &KEY), queue.bytes), (None, 0));
    }

    #[test]
    fn what_waits_in_a_space_that_is_cleared_is_not_written() {
        let mut queue = Queue::default();
        queue.enter(Space::Types, KEY, value("before"));
        queue.enter(Space::Shapes, KEY, value("other"));
        let (done, _wait) = oneshot::channel();
        queue.ask(Write::Clear(Space::Types, done));
        queue.enter(Space::Types, KEY, value("after"));
        assert_eq!(content(&mut queue), None);
        assert_eq!(content(&mut queue), Some(value("other")));
        assert!(matches!(queue.pop(), Some(Write::Clear(Space::Types, _))));
        assert_eq!(content(&mut queue), Some(value("after")));
        assert!(queue.order.is_empty() && queue.bytes == 0);
    }

    #[test]
    fn a_full_queue_takes_nothing_more() {
        let mut queue = Queue::default();
        let large = Some(Arc::new(vec![0; MOST_WAITING]));
        assert!(queue.enter(Space::Types, KEY, large));
        assert!(!queue.enter(Space::Types, [2; 32], value("one more")));
        assert!(queue.enter(Space::Types, [2; 32], None));
        for _ in 2..MOST_WRITES {
            assert!(queue.enter(Space::Types, [2; 32], None));
        }
        assert!(!queue.enter(Space::Types, [2; 32], None));
    }
}
