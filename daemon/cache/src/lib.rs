//! What the daemon knows and could find out again: catalogs, types, shapes, verdicts.
//!
//! It knows `mux-text` for digests and nothing else of this workspace. It alone depends on the store (`sled`), which is
//! fast and not reliable.
//!
//! - `store` asks the store on disk and fences each question; `reader` and `writer` are our two threads for it, `write_queue`
//!   what waits to be written, `shared_state` what they and their callers share, `limits` the limits and timeouts.
//! - `envelope` surrounds a value with its space, key and checksum; `cache_dir` has the directories: the lock, and the
//!   quarantine for a damaged store; `memory_store` is the cache where there is no disk.
//! - `timer_slack` gives the store's own threads a large timer slack; `panic_hook` sends their panics to the log.
//!
//! A store that cannot be opened within 500 ms, or was being opened when a process died, is moved aside.
//!
//! Invariants:
//!
//! - A value that comes back is the one that was put. Nothing that happens to the disk costs more than what was on it.
//! - The store is asked on threads of our own and waited for with a limit.
//! - The cache holds nothing that cannot be learned again: no approval, pin or token.

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

/// What one store is called; another format or another version of it never opens it.
const STORE_VERSION: &str = "sled-0.34";
/// Ours, and those that the store starts for itself.
const CACHE_THREAD_NAMES: &[&str] = &[READER_THREAD, WRITER_THREAD, CLOSER_THREAD, "sled-io-"];
const READER_THREAD: &str = "cache-reader";
const WRITER_THREAD: &str = "cache-writer";
const CLOSER_THREAD: &str = "cache-closer";
/// What the store keeps in memory of what it read.
const PAGE_CACHE_BYTES: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// As they were when something was last written.
    pub bytes_on_disk: u64,
    /// Reads that found something, and that did not.
    pub hits: u64,
    pub misses: u64,
    /// Why it lives in memory only.
    pub problem: Option<String>,
    /// Why what an earlier daemon had kept was set aside.
    pub began_anew: Option<String>,
}

/// Cheap to clone. The last clone that goes closes it in the background.
#[derive(Clone)]
pub struct Cache(Arc<CacheInner>);

struct CacheInner {
    shared: Arc<SharedCache>,
    /// Ends when the store is closed.
    open: watch::Receiver<()>,
}

impl Cache {
    /// Opens it, or makes it, below `folder`. Never fails, and takes at most half a second: what cannot
    /// be opened is set aside (the last such thing is kept) and an empty one begun; where that fails
    /// too, or another process has it, it lives in memory only. An opening that takes longer goes on;
    /// until it ends everything is a miss and what is put waits. Must be called inside a tokio runtime.
    pub async fn open(folder: PathBuf) -> Self {
        Self::open_with(folder, Box::new(open_trees), MAX_DISK_BYTES).await
    }

    /// One that lives in memory only.
    pub fn memory() -> Self {
        let phase = CachePhase::Memory(memory_store::MemoryStore::default());
        let shared = Arc::new(SharedCache::new(phase));
        let open = watch::channel(()).1;
        Self(Arc::new(CacheInner { shared, open }))
    }

    /// Anything that is wrong with a value is a miss, and a store that does not answer too.
    pub async fn get(&self, space: CacheSpace, key: DigestKey) -> Option<Vec<u8>> {
        let value = match self.shared().find(space, key) {
            CacheLookup::Now(value) => value,
            CacheLookup::Later(found) => match timeout(READ_TIMEOUT, found).await {
                Ok(answer) => answer.ok().flatten(),
                Err(_) => {
                    self.shared().give_up_if_silent();
                    None
                }
            },
        };
        self.shared().count(value.is_some());
        value
    }

    /// Returns at once. A write that finds the line full, or the disk, is dropped; what was there
    /// before then stays. A value that is longer than [`MAX_VALUE_BYTES`] is not kept.
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

    /// In no order. None of it if that takes longer than a second.
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

    /// Everything that was put before is on the disk, unless that takes longer than two seconds.
    pub async fn flush(&self) {
        if let Err(flushed) = self.shared().ask(WriteRequest::Flush, |_| ()) {
            drop(timeout(FLUSH_TIMEOUT, flushed).await);
        }
    }

    /// Closes it for all who have it; another process can open it when this returns, unless the disk does not answer.
    pub async fn close(&self, within: Duration) {
        self.shared().close();
        let mut open = self.0.open.clone();
        // Nothing is ever sent: what is waited for is the end.
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
        panic_hook::hush(CACHE_THREAD_NAMES);
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
            shared.forsake(format!("its threads do not start: {error}"));
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

/// One that may be lost in the store, and is not waited for.
fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name(name.into());
    thread.spawn(work).map(drop)
}

/// The store, with one tree for each space.
struct SledStore {
    db: Db,
    catalogs: Tree,
    types: Tree,
    shapes: Tree,
    verdicts: Tree,
    eras: Tree,
    usage: Tree,
}

fn open_trees(path: &Path) -> Result<Box<dyn Store>, StoreError> {
    let db = Config::new()
        .path(path)
        .mode(Mode::LowSpace)
        .cache_capacity(PAGE_CACHE_BYTES)
        // Its own thread would sync the file twice a second for ever, cannot be told from one that
        // panicked, and is waited for without a limit when the store is dropped: `writer` flushes.
        .flush_every_ms(None)
        .open()?;
    Ok(Box::new(SledStore {
        catalogs: db.open_tree("catalogs")?,
        types: db.open_tree("types")?,
        shapes: db.open_tree("shapes")?,
        verdicts: db.open_tree("verdicts")?,
        eras: db.open_tree("eras")?,
        usage: db.open_tree("usage")?,
        db,
    }))
}

impl SledStore {
    fn tree(&self, space: CacheSpace) -> &Tree {
        match space {
            CacheSpace::Catalogs => &self.catalogs,
            CacheSpace::Types => &self.types,
            CacheSpace::Shapes => &self.shapes,
            CacheSpace::Verdicts => &self.verdicts,
            CacheSpace::Eras => &self.eras,
            CacheSpace::Usage => &self.usage,
        }
    }
}

impl Store for SledStore {
    fn get(&self, space: CacheSpace, key: &DigestKey) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.tree(space).get(key)?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn put(&self, space: CacheSpace, key: &DigestKey, sealed: Vec<u8>) -> Result<(), StoreError> {
        self.tree(space).insert(key, sealed)?;
        Ok(())
    }

    fn remove(&self, space: CacheSpace, key: &[u8]) -> Result<(), StoreError> {
        self.tree(space).remove(key)?;
        Ok(())
    }

    fn clear(&self, space: CacheSpace) -> Result<(), StoreError> {
        Ok(self.tree(space).clear()?)
    }

    fn all(&self, space: CacheSpace) -> Result<StoreEntries, StoreError> {
        let entries = self.tree(space).iter().map(|entry| {
            let (key, value) = entry?;
            Ok((key.to_vec(), value.to_vec()))
        });
        entries.collect()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.db.flush()?;
        Ok(())
    }

    fn bytes(&self) -> Result<u64, StoreError> {
        Ok(self.db.size_on_disk()?)
    }
}

impl From<sled::Error> for StoreError {
    fn from(error: sled::Error) -> Self {
        match error {
            // It has no kind of its own.
            sled::Error::Io(error) if error.to_string().contains("acquire lock") => Self::Locked,
            sled::Error::Io(error) => error.into(),
            other => Self::Broken(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
