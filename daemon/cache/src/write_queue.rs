//! The queue of pending writes, which can be read meanwhile.
//!
//! Invariant: a value is here from its `put` until it is on disk: `waiting` for the writer, then `written` to the store,
//! which may still find the disk full when it is flushed.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;

use super::{
    CacheSpace, DigestKey,
    limits::{MAX_QUEUED_BYTES, MAX_QUEUED_WRITES},
};

/// A request to the writer thread, in the order of the requests.
pub(super) enum WriteRequest {
    /// Writes the pending value of this key, unless a newer write has replaced it.
    Entry(CacheSpace, DigestKey, u64),
    Clear(CacheSpace, oneshot::Sender<()>),
    All(CacheSpace, oneshot::Sender<Vec<(DigestKey, Vec<u8>)>>),
    Flush(oneshot::Sender<()>),
}

/// A value to put, or `None` to remove it.
pub(super) type PendingValue = Option<Arc<Vec<u8>>>;

#[derive(Default)]
pub(super) struct WriteQueue {
    order: VecDeque<WriteRequest>,
    /// The pending values, with the number of the write for each.
    waiting: HashMap<(CacheSpace, DigestKey), (u64, PendingValue)>,
    bytes: usize,
    next: u64,
    /// The writes that the store has taken since its last flush.
    written: HashMap<(CacheSpace, DigestKey), PendingValue>,
    written_bytes: usize,
}

impl WriteQueue {
    /// Adds a write. Returns false if the queue is full: the old value stays then.
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

    /// Adds a request that a caller waits for. The number is not limited, because there are few callers.
    pub(super) fn ask(&mut self, write: WriteRequest) {
        if let WriteRequest::Clear(space, _) = write {
            self.drop_space(space);
        }
        self.order.push_back(write);
    }

    /// The pending value of this key, or `None` if no write is pending.
    pub(super) fn waiting(&self, space: CacheSpace, key: &DigestKey) -> Option<PendingValue> {
        let (_, value) = self.waiting.get(&(space, *key))?;
        Some(value.clone())
    }

    pub(super) fn pop(&mut self) -> Option<WriteRequest> {
        self.order.pop_front()
    }

    /// The value of this write, unless a newer one has replaced it.
    pub(super) fn content(
        &self,
        space: CacheSpace,
        key: &DigestKey,
        number: u64,
    ) -> Option<PendingValue> {
        let (newest, value) = self.waiting.get(&(space, *key))?;
        (*newest == number).then(|| value.clone())
    }

    /// The store has taken this value. If its space was cleared meanwhile, the value is dropped, because the store will
    /// also clear it.
    pub(super) fn wrote(
        &mut self,
        space: CacheSpace,
        key: &DigestKey,
        number: u64,
        value: PendingValue,
    ) {
        if !self.waiting.contains_key(&(space, *key)) {
            return;
        }
        self.done(space, key, number);
        self.written_bytes += size(&value);
        if let Some(before) = self.written.insert((space, *key), value) {
            self.written_bytes -= size(&before);
        }
    }

    /// Returns true if the store has taken so much data that it must be flushed.
    pub(super) fn needs_flush(&self) -> bool {
        self.written_bytes > MAX_QUEUED_BYTES
    }

    /// Everything that the store has taken is on disk, or the store was replaced.
    pub(super) fn flushed(&mut self) {
        self.written = HashMap::new();
        self.written_bytes = 0;
    }

    /// Removes a write that was made or has failed.
    pub(super) fn done(&mut self, space: CacheSpace, key: &DigestKey, number: u64) {
        if self.content(space, key, number).is_some() {
            self.drop_key(space, key);
        }
    }

    /// Takes all values that are not on disk when the store is given up, older ones first. Waiting callers get no
    /// answer.
    pub(super) fn take(
        &mut self,
    ) -> impl Iterator<Item = (CacheSpace, DigestKey, PendingValue)> + use<> {
        let queue = std::mem::take(self);
        let waiting = queue.waiting.into_iter();
        let waiting = waiting.map(|(at, (_, value))| (at, value));
        let all = queue.written.into_iter().chain(waiting);
        all.map(|((space, key), value)| (space, key, value))
    }

    fn drop_key(&mut self, space: CacheSpace, key: &DigestKey) {
        if let Some((_, value)) = self.waiting.remove(&(space, *key)) {
            self.bytes -= size(&value);
        }
    }

    fn drop_space(&mut self, space: CacheSpace) {
        self.waiting.retain(|(of, _), _| *of != space);
        self.written.retain(|(of, _), _| *of != space);
        let waiting = self.waiting.values();
        self.bytes = waiting.map(|(_, value)| size(value)).sum();
        self.written_bytes = self.written.values().map(size).sum();
    }
}

fn size(value: &PendingValue) -> usize {
    value.as_ref().map_or(0, |value| value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: DigestKey = [1; 32];

    #[expect(clippy::unnecessary_wraps, reason = "the type of a pending value")]
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
    fn newer_write_of_a_key_replaces_the_older() {
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
    fn clear_drops_pending_writes_of_its_space() {
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
    fn value_that_was_being_written_during_a_clear_does_not_come_back() {
        let mut queue = WriteQueue::default();
        queue.enter(CacheSpace::Types, KEY, value("cleared"));
        queue.enter(CacheSpace::Shapes, KEY, value("kept"));
        let (done, _wait) = oneshot::channel();
        queue.ask(WriteRequest::Clear(CacheSpace::Types, done));
        queue.wrote(CacheSpace::Types, &KEY, 1, value("cleared"));
        queue.wrote(CacheSpace::Shapes, &KEY, 2, value("kept"));
        let length = "kept".len();
        assert_eq!((queue.written_bytes, queue.bytes), (length, 0));
        let left: Vec<_> = queue.take().collect();
        assert_eq!(left, [(CacheSpace::Shapes, KEY, value("kept"))]);
    }

    #[test]
    fn newer_write_wins_over_one_that_was_being_written_during_a_clear() {
        let mut queue = WriteQueue::default();
        queue.enter(CacheSpace::Types, KEY, value("cleared"));
        let (done, _wait) = oneshot::channel();
        queue.ask(WriteRequest::Clear(CacheSpace::Types, done));
        queue.enter(CacheSpace::Types, KEY, value("after"));
        queue.wrote(CacheSpace::Types, &KEY, 1, value("cleared"));
        let last = queue.take().last();
        assert_eq!(last, Some((CacheSpace::Types, KEY, value("after"))));
    }

    #[test]
    fn full_queue_rejects_writes() {
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
