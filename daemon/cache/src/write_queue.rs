//! What waits to be written, in order, and can be read meanwhile.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;

use super::{
    CacheSpace, DigestKey,
    limits::{MAX_QUEUED_BYTES, MAX_QUEUED_WRITES},
};

/// What is to be done with the store, in the order in which it was asked for.
pub(super) enum WriteRequest {
    /// Puts or removes what waits under this key, unless something newer waits there.
    Entry(CacheSpace, DigestKey, u64),
    Clear(CacheSpace, oneshot::Sender<()>),
    All(CacheSpace, oneshot::Sender<Vec<(DigestKey, Vec<u8>)>>),
    Flush(oneshot::Sender<()>),
}

/// A value, or that there is none any more.
pub(super) type PendingValue = Option<Arc<Vec<u8>>>;

#[derive(Default)]
pub(super) struct WriteQueue {
    order: VecDeque<WriteRequest>,
    /// With the number of the write that will take it.
    waiting: HashMap<(CacheSpace, DigestKey), (u64, PendingValue)>,
    bytes: usize,
    next: u64,
}

impl WriteQueue {
    /// False if it is full: then what was there before stays.
    pub(super) fn enter(&mut self, space: CacheSpace, key: DigestKey, value: PendingValue) -> bool {
        let length = value.as_ref().map_or(0, |value| value.len());
        if self.order.len() >= MAX_QUEUED_WRITES || self.bytes + length > MAX_QUEUED_BYTES {
            return false;
        }
        self.next += 1;
        self.bytes += length;
        let before = self.waiting.insert((space, key), (self.next, value));
        self.bytes -= before.map_or(0, |(_, value)| size(&value));
        self.order
            .push_back(WriteRequest::Entry(space, key, self.next));
        true
    }

    /// Only those who wait for the answer ask so, and they are few.
    pub(super) fn ask(&mut self, write: WriteRequest) {
        if let WriteRequest::Clear(space, _) = write {
            self.drop_waiting(|of| of == space);
        }
        self.order.push_back(write);
    }

    /// What will stand under this key; `None` if nothing waits there.
    pub(super) fn waiting(&self, space: CacheSpace, key: &DigestKey) -> Option<PendingValue> {
        let (_, value) = self.waiting.get(&(space, *key))?;
        Some(value.clone())
    }

    pub(super) fn pop(&mut self) -> Option<WriteRequest> {
        self.order.pop_front()
    }

    /// What this write is about, unless a newer one has taken its place.
    pub(super) fn content(
        &self,
        space: CacheSpace,
        key: &DigestKey,
        number: u64,
    ) -> Option<PendingValue> {
        let (newest, value) = self.waiting.get(&(space, *key))?;
        (*newest == number).then(|| value.clone())
    }

    /// It is in the store now, or lost.
    pub(super) fn done(&mut self, space: CacheSpace, key: &DigestKey, number: u64) {
        if self.content(space, key, number).is_some() {
            self.drop_key(space, key);
        }
    }

    /// All that waits, when nobody will write it any more; whoever waits for an answer gets none.
    pub(super) fn take(
        &mut self,
    ) -> impl Iterator<Item = (CacheSpace, DigestKey, PendingValue)> + use<> {
        let queue = std::mem::take(self);
        let waiting = queue.waiting.into_iter();
        waiting.map(|((space, key), (_, value))| (space, key, value))
    }

    fn drop_key(&mut self, space: CacheSpace, key: &DigestKey) {
        if let Some((_, value)) = self.waiting.remove(&(space, *key)) {
            self.bytes -= size(&value);
        }
    }

    fn drop_waiting(&mut self, goes: impl Fn(CacheSpace) -> bool) {
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

fn size(value: &PendingValue) -> usize {
    value.as_ref().map_or(0, |value| value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: DigestKey = [1; 32];

    fn value(text: &str) -> PendingValue {
        Some(Arc::new(text.into()))
    }

    fn content(queue: &mut WriteQueue) -> Option<PendingValue> {
        let Some(WriteRequest::Entry(space, key, number)) = queue.pop() else {
            return None;
        };
        let content = queue.content(space, &key, number);
        queue.done(space, &key, number);
        content
    }

    #[test]
    fn of_two_writes_of_one_key_the_newer_one_counts() {
        let mut queue = WriteQueue::default();
        assert!(queue.enter(CacheSpace::Types, KEY, value("old")));
        assert!(queue.enter(CacheSpace::Types, KEY, value("new")));
        assert_eq!(queue.waiting(CacheSpace::Types, &KEY), Some(value("new")));
        assert_eq!(content(&mut queue), None);
        assert_eq!(content(&mut queue), Some(value("new")));
        assert_eq!(
            (queue.waiting(CacheSpace::Types, &KEY), queue.bytes),
            (None, 0)
        );
    }

    #[test]
    fn what_waits_in_a_space_that_is_cleared_is_not_written() {
        let mut queue = WriteQueue::default();
        queue.enter(CacheSpace::Types, KEY, value("before"));
        queue.enter(CacheSpace::Shapes, KEY, value("other"));
        let (done, _wait) = oneshot::channel();
        queue.ask(WriteRequest::Clear(CacheSpace::Types, done));
        queue.enter(CacheSpace::Types, KEY, value("after"));
        assert_eq!(content(&mut queue), None);
        assert_eq!(content(&mut queue), Some(value("other")));
        assert!(matches!(
            queue.pop(),
            Some(WriteRequest::Clear(CacheSpace::Types, _))
        ));
        assert_eq!(content(&mut queue), Some(value("after")));
        assert!(queue.order.is_empty() && queue.bytes == 0);
    }

    #[test]
    fn a_full_queue_takes_nothing_more() {
        let mut queue = WriteQueue::default();
        let large = Some(Arc::new(vec![0; MAX_QUEUED_BYTES]));
        assert!(queue.enter(CacheSpace::Types, KEY, large));
        assert!(!queue.enter(CacheSpace::Types, [2; 32], value("one more")));
        assert!(queue.enter(CacheSpace::Types, [2; 32], None));
        for _ in 2..MAX_QUEUED_WRITES {
            assert!(queue.enter(CacheSpace::Types, [2; 32], None));
        }
        assert!(!queue.enter(CacheSpace::Types, [2; 32], None));
    }
}
