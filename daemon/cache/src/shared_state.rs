//! The state that the cache's callers share with its two threads.
//!
//! Invariant: the lock is never held while the store is used, so it is never held for long.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;
use tracing::warn;

use super::{
    CacheSpace, CacheStatus, DigestKey,
    limits::{MAX_QUEUED_READS, STUCK_READ_TIMEOUT, STUCK_WRITE_TIMEOUT},
    memory_store::MemoryStore,
    store::{OpenStore, StoreError},
    write_queue::{PendingValue, WriteQueue, WriteRequest},
};

pub(super) struct SharedCache {
    state: Mutex<CacheState>,
    reads: Condvar,
    writes: Condvar,
}

/// Guarded by `SharedCache::state`.
pub(super) struct CacheState {
    pub(super) phase: CachePhase,
    /// Increases whenever the store is replaced: failures of an earlier store are ignored.
    pub(super) epoch: u64,
    pub(super) queue: WriteQueue,
    pub(super) reads: VecDeque<PendingRead>,
    /// Since when the reader is using the store. `writing`: the same for the writer.
    pub(super) reading: Option<Instant>,
    pub(super) writing: Option<Instant>,
    /// Why the store must be replaced.
    pub(super) broken: Option<String>,
    pub(super) status: CacheStatus,
    /// True if the cache was closed.
    pub(super) closed: bool,
    /// True if dropped writes were logged.
    is_reported: bool,
}

pub(super) enum CachePhase {
    /// The store is being opened or replaced. Writes wait.
    Opening,
    Disk(Arc<OpenStore>),
    Memory(MemoryStore),
}

pub(super) struct PendingRead {
    pub(super) space: CacheSpace,
    pub(super) key: DigestKey,
    pub(super) answer: oneshot::Sender<Option<Vec<u8>>>,
}

/// The result of a lookup, available now or later.
pub(super) enum CacheLookup {
    Now(Option<Vec<u8>>),
    Later(oneshot::Receiver<Option<Vec<u8>>>),
}

impl SharedCache {
    pub(super) fn new(phase: CachePhase) -> Self {
        Self {
            state: Mutex::new(CacheState {
                phase,
                epoch: 0,
                queue: WriteQueue::default(),
                reads: VecDeque::new(),
                reading: None,
                writing: Some(Instant::now()),
                broken: None,
                status: CacheStatus::default(),
                closed: false,
                is_reported: false,
            }),
            reads: Condvar::new(),
            writes: Condvar::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, space: CacheSpace, key: DigestKey) -> CacheLookup {
        let mut state = self.state();
        if let CachePhase::Memory(memory) = &state.phase {
            return CacheLookup::Now(memory.get(space, &key));
        }
        if let Some(waiting) = state.queue.waiting(space, &key) {
            return CacheLookup::Now(waiting.map(|value| value.to_vec()));
        }
        if matches!(state.phase, CachePhase::Opening) || state.reads.len() >= MAX_QUEUED_READS {
            return CacheLookup::Now(None);
        }
        let (answer, found) = oneshot::channel();
        state.reads.push_back(PendingRead { space, key, answer });
        self.reads.notify_one();
        CacheLookup::Later(found)
    }

    pub(super) fn count(&self, hit: bool) {
        let status = &mut self.state().status;
        if hit {
            status.hits += 1;
        } else {
            status.misses += 1;
        }
    }

    pub(super) fn enter(&self, space: CacheSpace, key: DigestKey, value: PendingValue) {
        let mut state = self.state();
        self.give_up_if_stuck(&mut state);
        if let CachePhase::Memory(memory) = &mut state.phase {
            match value {
                Some(value) => memory.put(space, key, value),
                None => memory.remove(space, &key),
            }
            return;
        }
        if state.queue.enter(space, key, value) {
            self.writes.notify_one();
        } else if !state.is_reported {
            state.is_reported = true;
            warn!("cache writes are dropped: the queue is full");
        }
    }

    /// Sends a request to the writer, or runs `in_memory` if there is no store.
    pub(super) fn ask<T>(
        &self,
        write: impl FnOnce(oneshot::Sender<T>) -> WriteRequest,
        in_memory: impl FnOnce(&mut MemoryStore) -> T,
    ) -> Result<T, oneshot::Receiver<T>> {
        let mut state = self.state();
        self.give_up_if_stuck(&mut state);
        if let CachePhase::Memory(memory) = &mut state.phase {
            return Ok(in_memory(memory));
        }
        let (answer, answered) = oneshot::channel();
        state.queue.ask(write(answer));
        self.writes.notify_one();
        Err(answered)
    }

    /// Gives up the store if one of its threads hangs. Called when a read has timed out.
    pub(super) fn give_up_if_silent(&self) {
        self.give_up_if_stuck(&mut self.state());
    }

    pub(super) fn opened(&self, store: OpenStore) {
        let mut state = self.state();
        if matches!(state.phase, CachePhase::Opening) {
            state.phase = CachePhase::Disk(Arc::new(store));
            state.epoch += 1;
            state.writing = None;
        }
    }

    /// Reports a failure of the store of this epoch: the writer replaces it, unless only the disk is full.
    pub(super) fn failed(&self, epoch: u64, error: StoreError) {
        let mut state = self.state();
        if state.epoch != epoch || !matches!(state.phase, CachePhase::Disk(_)) {
            return;
        }
        match error {
            StoreError::NoRoom(error) => {
                self.fall_back_to_memory_locked(
                    &mut state,
                    format!("it cannot be written: {error}"),
                );
            }
            error => {
                state.phase = CachePhase::Opening;
                state.epoch += 1;
                state.writing = Some(Instant::now());
                state.broken = Some(error.to_string());
                self.writes.notify_one();
            }
        }
    }

    /// Gives up the store: the cache is in memory only from now on.
    pub(super) fn fall_back_to_memory(&self, why: String) {
        self.fall_back_to_memory_locked(&mut self.state(), why);
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.reads.notify_all();
        self.writes.notify_all();
    }

    pub(super) fn wait_for_read<'a>(
        &self,
        state: MutexGuard<'a, CacheState>,
    ) -> MutexGuard<'a, CacheState> {
        let woken = self.reads.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait_for_write<'a>(
        &self,
        state: MutexGuard<'a, CacheState>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, CacheState> {
        // Without a limit any long time will do.
        let limit = limit.unwrap_or(Duration::from_hours(1));
        let woken = self.writes.wait_timeout(state, limit);
        woken.unwrap_or_else(PoisonError::into_inner).0
    }

    fn give_up_if_stuck(&self, state: &mut CacheState) {
        let stuck = |since: Option<Instant>, limit: Duration| {
            since.is_some_and(|since| since.elapsed() > limit)
        };
        if stuck(state.reading, STUCK_READ_TIMEOUT) || stuck(state.writing, STUCK_WRITE_TIMEOUT) {
            self.fall_back_to_memory_locked(state, "the disk does not answer".into());
        }
    }

    fn fall_back_to_memory_locked(&self, state: &mut CacheState, why: String) {
        if matches!(state.phase, CachePhase::Memory(_)) {
            return;
        }
        warn!(why, "the cache lives in memory only");
        let mut memory = MemoryStore::default();
        for (space, key, value) in state.queue.take() {
            match value {
                Some(value) => memory.put(space, key, value),
                None => memory.remove(space, &key),
            }
        }
        state.phase = CachePhase::Memory(memory);
        state.epoch += 1;
        state.status.problem = Some(why);
        state.reads.clear();
        self.reads.notify_all();
        self.writes.notify_all();
    }
}
