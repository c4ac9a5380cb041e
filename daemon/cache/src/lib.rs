//! The cache of values that the daemon can recompute: catalogs, types, shapes, verdicts, eras, usage.
//!
//! Of this workspace, the crate depends only on `mux-text`, for digests. No other crate depends on the store (`sled`),
//! which is fast but not reliable.
//!
//! - `store`: the interface to the store on disk, which catches its panics. `reader` and `writer`: the two threads that
//!   access it. `write_queue`: pending writes. `shared_state`: the state of the threads and their callers. `limits`:
//!   sizes and timeouts.
//! - `envelope` wraps a value with its space, key and checksum. `cache_dir`: the directories, with the lock and the
//!   quarantine of a damaged store. `memory_store`: the cache without a disk.
//! - `timer_slack` gives the store's own threads a large timer slack. `panic_hook` sends their panics to the log.
//!
//! A damaged store is moved to the quarantine, and so is a store that was being opened when a process died.
//!
//! Invariants:
//!
//! - A value that is read equals the value that was put. Damage on the disk costs at most the cached values.
//! - The store is only used on threads of this crate, and callers wait for them with a timeout.
//! - The cache contains only values that can be recomputed: no approvals, pins or tokens.

mod cache_dir;
mod envelope;
mod limits;
mod memory_store;
mod panic_hook;
mod reader;
mod shared_state;
mod store;
mod timer_slack;
mod write_queue;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use mux_text::digest::DigestKey;
use sled::{Config, Db, Mode, Tree};
use strum::{EnumIter, IntoEnumIterator as _, IntoStaticStr};
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};

pub use self::limits::MAX_VALUE_BYTES;
use self::{
    cache_dir::CacheDir,
    limits::{FLUSH_TIMEOUT, MAX_DISK_BYTES, OPEN_TIMEOUT, READ_ALL_TIMEOUT, READ_TIMEOUT},
    shared_state::{CacheLookup, CachePhase, SharedCache},
    store::{Store, StoreEntries, StoreError, StoreOpener},
    write_queue::WriteRequest,
};

/// The version of the store format, a part of its directory's name. Other versions never open it.
const STORE_VERSION: &str = "sled-0.34";
/// The name prefixes of the threads of this crate and of the store.
const CACHE_THREAD_NAMES: &[&str] = &[READER_THREAD, WRITER_THREAD, CLOSER_THREAD, "sled-io-"];
const READER_THREAD: &str = "cache-reader";
const WRITER_THREAD: &str = "cache-writer";
const CLOSER_THREAD: &str = "cache-closer";
/// The size of the store's page cache.
const PAGE_CACHE_BYTES: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CacheSpace {
    Catalogs,
    Types,
    Shapes,
    Verdicts,
    Eras,
    Usage,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// As of the last flush.
    pub bytes_on_disk: u64,
    /// The number of reads that found a value. `misses` are the others.
    pub hits: u64,
    pub misses: u64,
    /// Why the cache is in memory only.
    pub problem: Option<String>,
    /// Why the previous store was moved to the quarantine.
    pub began_anew: Option<String>,
}

/// A handle to the cache. Cheap to clone. Dropping the last clone closes the cache in the background.
#[derive(Clone)]
pub struct Cache(Arc<CacheInner>);

struct CacheInner {
    shared: Arc<SharedCache>,
    /// The sender is dropped when the store is closed.
    open: watch::Receiver<()>,
}

impl Cache {
    /// Opens or creates the cache in `folder`. Never fails, and takes at most half a second. A damaged store is
    /// replaced by an empty one and moved to the quarantine, which has room for one. If that also fails, or another
    /// process uses the store, the cache is in memory only. Opening continues after the half second: until it is done,
    /// reads miss and writes wait. Must be called inside a tokio runtime.
    pub async fn open(folder: PathBuf) -> Self {
        Self::open_with(folder, Box::new(open_trees), MAX_DISK_BYTES).await
    }

    /// A cache in memory only.
    pub fn memory() -> Self {
        let phase = CachePhase::Memory(memory_store::MemoryStore::default());
        let shared = Arc::new(SharedCache::new(phase));
        let open = watch::channel(()).1;
        Self(Arc::new(CacheInner { shared, open }))
    }

    /// Reads a value. A damaged value is a miss, and so is a store that does not respond.
    pub async fn get(&self, space: CacheSpace, key: DigestKey) -> Option<Vec<u8>> {
        let value = match self.shared().find(space, key) {
            CacheLookup::Now(value) => value,
            CacheLookup::Later(found) => {
                if let Ok(answer) = timeout(READ_TIMEOUT, found).await {
                    answer.ok().flatten()
                } else {
                    self.shared().give_up_if_silent();
                    None
                }
            }
        };
        self.shared().count(value.is_some());
        value
    }

    /// Writes a value without blocking. If the queue or the disk is full, the write is dropped and the old value stays.
    /// A value longer than [`MAX_VALUE_BYTES`] is not stored, and the old value is removed.
    pub fn put(&self, space: CacheSpace, key: DigestKey, value: Vec<u8>) {
        let value = (value.len() <= MAX_VALUE_BYTES).then(|| Arc::new(value));
        self.shared().enter(space, key, value);
    }

    pub fn remove(&self, space: CacheSpace, key: DigestKey) {
        self.shared().enter(space, key, None);
    }

    pub async fn clear(&self, space: CacheSpace) {
        let cleared = self.shared().ask(
            |done| WriteRequest::Clear(space, done),
            |memory| memory.clear(space),
        );
        if let Err(cleared) = cleared {
            drop(timeout(READ_ALL_TIMEOUT, cleared).await);
        }
    }

    /// All values of a space, in no order. Empty if that takes longer than a second.
    pub async fn all(&self, space: CacheSpace) -> Vec<(DigestKey, Vec<u8>)> {
        let all = self.shared().ask(
            |all| WriteRequest::All(space, all),
            |memory| memory.all(space),
        );
        match all {
            Ok(all) => all,
            Err(all) => match timeout(READ_ALL_TIMEOUT, all).await {
                Ok(all) => all.unwrap_or_default(),
                Err(_) => Vec::new(),
            },
        }
    }

    /// Waits until everything that was put before is on disk, at most two seconds.
    pub async fn flush(&self) {
        if let Err(flushed) = self.shared().ask(WriteRequest::Flush, |_| ()) {
            drop(timeout(FLUSH_TIMEOUT, flushed).await);
        }
    }

    /// Closes the cache for all its handles. Another process can open it when this returns, unless `within` has passed.
    pub async fn close(&self, within: Duration) {
        self.shared().close();
        let mut open = self.0.open.clone();
        // No value is ever sent: the channel closes with the store.
        drop(timeout(within, async { while open.changed().await.is_ok() {} }).await);
    }

    pub fn status(&self) -> CacheStatus {
        let state = self.shared().state();
        let mut status = state.status.clone();
        if matches!(state.phase, CachePhase::Opening) {
            status.problem = Some("it is still being opened".into());
        }
        status
    }

    async fn open_with(folder: PathBuf, opener: StoreOpener, most: u64) -> Self {
        panic_hook::log_panics_of(CACHE_THREAD_NAMES);
        let shared = Arc::new(SharedCache::new(CachePhase::Opening));
        let version = format!("v{}-{STORE_VERSION}", envelope::ENVELOPE_FORMAT);
        let (opened, is_open) = oneshot::channel();
        let reader = Arc::clone(&shared);
        let writer = Arc::clone(&shared);
        let take = move || CacheDir::take(&folder, &version, opener);
        let (closed, open) = watch::channel(());
        let started =
            spawn_thread(READER_THREAD, move || reader::run_reader(&reader)).and_then(|()| {
                spawn_thread(WRITER_THREAD, move || {
                    writer::run_writer(writer, take, most, opened);
                    drop(closed);
                })
            });
        if let Err(error) = started {
            shared.fall_back_to_memory(format!("its threads cannot be started: {error}"));
        }
        drop(timeout(OPEN_TIMEOUT, is_open).await);
        Self(Arc::new(CacheInner { shared, open }))
    }

    fn shared(&self) -> &SharedCache {
        &self.0.shared
    }
}

impl Drop for CacheInner {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// Starts a detached thread: it may hang in the store.
fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name(name.into());
    thread.spawn(work).map(drop)
}

/// The store, with one tree for each space.
struct SledStore(Db);

fn open_trees(path: &Path) -> Result<Box<dyn Store>, StoreError> {
    let db = Config::new()
        .path(path)
        .mode(Mode::LowSpace)
        .cache_capacity(PAGE_CACHE_BYTES)
        // The store's own flush thread would sync the file twice a second forever, does not report a panic, and is
        // joined without a limit when the store is dropped. `writer` flushes instead.
        .flush_every_ms(None)
        .open()?;
    let store = SledStore(db);
    for space in CacheSpace::iter() {
        store.tree(space)?;
    }
    Ok(Box::new(store))
}

impl SledStore {
    /// Creates the tree if there is none.
    fn tree(&self, space: CacheSpace) -> Result<Tree, StoreError> {
        Ok(self.0.open_tree(<&str>::from(space))?)
    }
}

impl Store for SledStore {
    fn get(&self, space: CacheSpace, key: &DigestKey) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.tree(space)?.get(key)?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn put(&self, space: CacheSpace, key: &DigestKey, sealed: Vec<u8>) -> Result<(), StoreError> {
        self.tree(space)?.insert(key, sealed)?;
        Ok(())
    }

    fn remove(&self, space: CacheSpace, key: &[u8]) -> Result<(), StoreError> {
        self.tree(space)?.remove(key)?;
        Ok(())
    }

    fn clear(&self, space: CacheSpace) -> Result<(), StoreError> {
        Ok(self.tree(space)?.clear()?)
    }

    fn all(&self, space: CacheSpace) -> Result<StoreEntries, StoreError> {
        let entries = self.tree(space)?.iter().map(|entry| {
            let (key, value) = entry?;
            Ok((key.to_vec(), value.to_vec()))
        });
        entries.collect()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.0.flush()?;
        Ok(())
    }

    fn bytes(&self) -> Result<u64, StoreError> {
        Ok(self.0.size_on_disk()?)
    }
}

impl From<sled::Error> for StoreError {
    fn from(error: sled::Error) -> Self {
        match error {
            // The error for a lock has no separate kind.
            sled::Error::Io(error) if error.to_string().contains("acquire lock") => Self::Locked,
            sled::Error::Io(error) => error.into(),
            other => Self::Broken(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
