//! The writer thread: opens the store, writes, and replaces a damaged store.
//!
//! Invariant: only this thread accesses the directories.

use std::{sync::Arc, time::Instant};

use tokio::sync::oneshot;
use tracing::{info, warn};

use super::{
    CacheSpace, DigestKey,
    cache_dir::{CacheDir, CacheDirError, OpenedStore},
    envelope,
    limits::{FLUSH_DELAY, MAX_KEPT_BYTES},
    shared_state::{CachePhase, CacheState, SharedCache},
    store::{OpenStore, Store, StoreEntries, StoreError},
    write_queue::WriteRequest,
};

pub(super) struct CacheWriter {
    shared: Arc<SharedCache>,
    place: CacheDir,
    /// The size on disk beyond which the store is compacted, in bytes.
    most: u64,
    /// The time of the first write that was not flushed yet.
    unflushed: Option<Instant>,
    /// True if a store was replaced. If the new one also fails, the cache is in memory only.
    began_anew: bool,
}

/// Opens the store, signals `opened`, and serves requests until the cache is closed or is in memory only.
pub(super) fn run_writer(
    shared: Arc<SharedCache>,
    take: impl FnOnce() -> Result<CacheDir, CacheDirError>,
    most: u64,
    opened: oneshot::Sender<()>,
) {
    let began = Instant::now();
    let place = take().and_then(|mut place| {
        let opened = place.open()?;
        Ok((place, opened))
    });
    let (place, (store, why)): (CacheDir, OpenedStore) = match place {
        Ok(done) => done,
        Err(error) => {
            shared.fall_back_to_memory(error.to_string());
            return;
        }
    };
    let took = began.elapsed();
    shared.state().status.began_anew = why;
    let mut writer = CacheWriter {
        shared,
        place,
        most,
        unflushed: None,
        began_anew: false,
    };
    writer.disk_bytes(&store);
    writer.shared.opened(store);
    info!(?took, "the cache is open");
    // After a slow start the receiver has timed out.
    let _ = opened.send(());
    writer.serve_queue();
}

impl CacheWriter {
    fn serve_queue(&mut self) {
        loop {
            let shared = Arc::clone(&self.shared);
            let mut state = shared.state();
            if let Some(why) = state.broken.take() {
                drop(state);
                self.replace_broken_store(&why);
                continue;
            }
            let CachePhase::Disk(store) = &state.phase else {
                return;
            };
            let store = Arc::clone(store);
            let epoch = state.epoch;
            let due = self.unflushed.map(|since| since + FLUSH_DELAY);
            let due = due.map(|due| due.saturating_duration_since(Instant::now()));
            let is_due = state.queue.needs_flush() || due.is_some_and(|left| left.is_zero());
            let done = if is_due {
                state.writing = Some(Instant::now());
                drop(state);
                self.flush(&store)
            } else if let Some(write) = state.queue.pop() {
                self.write(state, &store, write)
            } else if state.closed {
                // The reader drops its reference before it waits. The lock is held until everything is on disk.
                state.phase = CachePhase::Opening;
                drop(state);
                if let Some(store) = Arc::into_inner(store) {
                    store.close();
                }
                return;
            } else {
                drop(store);
                drop(shared.wait_for_write(state, due));
                continue;
            };
            shared.state().writing = None;
            drop(store);
            if let Err(error) = done {
                self.shared.failed(epoch, error);
            }
        }
    }

    /// Handles a request. Releases the lock before it uses the store.
    fn write(
        &mut self,
        mut state: std::sync::MutexGuard<'_, CacheState>,
        store: &OpenStore,
        write: WriteRequest,
    ) -> Result<(), StoreError> {
        state.writing = Some(Instant::now());
        match write {
            WriteRequest::Entry(space, key, number) => {
                let Some(content) = state.queue.content(space, &key, number) else {
                    return Ok(());
                };
                drop(state);
                let done = store.run_fenced(|store| match &content {
                    Some(value) => store.put(space, &key, envelope::seal(space, &key, value)),
                    None => store.remove(space, &key),
                });
                if matches!(done, Err(StoreError::NoRoom(_))) {
                    // The value stays queued, and moves to the cache in memory.
                    return done;
                }
                self.unflushed.get_or_insert_with(Instant::now);
                let mut state = self.shared.state();
                let is_in_use = matches!(state.phase, CachePhase::Disk(_));
                match done {
                    Ok(()) if is_in_use => state.queue.wrote(space, &key, number, content),
                    _ => state.queue.done(space, &key, number),
                }
                done
            }
            WriteRequest::Clear(space, done) => {
                drop(state);
                store.run_fenced(|store| store.clear(space))?;
                self.unflushed.get_or_insert_with(Instant::now);
                // The receiver may have timed out, here and below.
                let _ = done.send(());
                Ok(())
            }
            WriteRequest::All(space, answer) => {
                drop(state);
                let entries = store.run_fenced(|store| intact_values(store, space))?;
                drop(answer.send(entries));
                Ok(())
            }
            WriteRequest::Flush(done) => {
                drop(state);
                self.flush(store)?;
                let _ = done.send(());
                Ok(())
            }
        }
    }

    fn flush(&mut self, store: &OpenStore) -> Result<(), StoreError> {
        store.run_fenced(|store| store.flush())?;
        self.unflushed = None;
        self.shared.state().queue.flushed();
        if self.disk_bytes(store) > self.most {
            self.compact(store);
        }
        Ok(())
    }

    fn disk_bytes(&self, store: &OpenStore) -> u64 {
        // If the size is unknown, the store is not compacted.
        let bytes = store.run_fenced(|store| store.bytes()).unwrap_or(0);
        self.shared.state().status.bytes_on_disk = bytes;
        bytes
    }

    /// Replaces the store by a copy of the values that are expensive to recompute. Only copying reliably frees space.
    fn compact(&mut self, store: &OpenStore) {
        info!("the cache exceeds its size limit: dropping types and verdicts");
        let smaller = match self.place.beside() {
            Ok(smaller) => smaller,
            Err(error) => {
                self.shared.fall_back_to_memory(error.to_string());
                return;
            }
        };
        let copied = smaller.run_fenced(|smaller| {
            for space in [CacheSpace::Catalogs, CacheSpace::Shapes] {
                let mut left = MAX_KEPT_BYTES;
                for (key, value) in store.run_fenced(|store| intact_values(store, space))? {
                    if let Some(less) = left.checked_sub(value.len()) {
                        left = less;
                        smaller.put(space, &key, envelope::seal(space, &key, &value))?;
                    }
                }
            }
            smaller.flush()
        });
        if let Err(error) = copied {
            self.shared
                .fall_back_to_memory(format!("it cannot be compacted: {error}"));
            return;
        }
        self.disk_bytes(&smaller);
        let mut state = self.shared.state();
        if let CachePhase::Disk(current) = &mut state.phase {
            *current = Arc::new(smaller);
            state.epoch += 1;
        }
        drop(state);
        self.place.tidy();
    }

    fn replace_broken_store(&mut self, why: &str) {
        if self.began_anew {
            self.shared
                .fall_back_to_memory(format!("it failed twice: {why}"));
            return;
        }
        self.began_anew = true;
        self.unflushed = None;
        self.shared.state().queue.flushed();
        match self.place.begin_anew(why) {
            Ok(store) => {
                self.disk_bytes(&store);
                self.shared.state().status.began_anew = Some(why.to_owned());
                self.shared.opened(store);
            }
            Err(error) => {
                warn!(%error, "cannot start an empty cache");
                self.shared.fall_back_to_memory(error.to_string());
            }
        }
    }
}

/// All intact values of a space. Damaged ones are removed.
fn intact_values(
    store: &dyn Store,
    space: CacheSpace,
) -> Result<Vec<(DigestKey, Vec<u8>)>, StoreError> {
    let entries: StoreEntries = store.all(space)?;
    let mut whole = Vec::with_capacity(entries.len());
    for (name, sealed) in entries {
        let key: Option<DigestKey> = name.as_slice().try_into().ok();
        match key.and_then(|key| Some((key, envelope::unseal(space, &key, &sealed)?))) {
            Some(entry) => whole.push(entry),
            None => store.remove(space, &name)?,
        }
    }
    Ok(whole)
}
