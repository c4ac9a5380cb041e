//! What the daemon knows and could find out again: catalogs, types, shapes, verdicts.
//!
//! Invariant: a value that comes back is the one that was put, and nothing that happens to the disk
//! costs more than what was on it. This file alone names the store, which is fast and not reliable:
//! whatever it does is fenced (`store`), asked on two threads of our own (`reader`, `writer`), and
//! waited for with a limit.

mod envelope;
mod hush;
mod leisure;
mod memory;
mod place;
mod queue;
mod reader;
mod shared;
mod sizes;
mod store;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use mux_text::digest::Key;
use sled::{Config, Db, Mode, Tree};
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};

pub use self::sizes::MOST_VALUE;
use self::{
    place::Place,
    queue::Write,
    shared::{Found, Phase, Shared},
    sizes::{FLUSHING, MOST_ON_DISK, OPENING, READING, READING_ALL},
    store::{Entries, Opener, Store, StoreError},
};

/// What one store is called; another format or another version of it never opens it.
const STORE: &str = "sled-0.34";
/// Ours, and those that the store starts for itself.
const THREADS: &[&str] = &[READER, WRITER, CLOSER, "sled-io-"];
const READER: &str = "cache-reader";
const WRITER: &str = "cache-writer";
const CLOSER: &str = "cache-closer";
/// What the store keeps in memory of what it read.
const PAGES: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
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
pub struct Cache(Arc<Held>);

struct Held {
    shared: Arc<Shared>,
    /// Ends when the store is closed.
    open: watch::Receiver<()>,
}

impl Cache {
    /// Opens it, or makes it, below `folder`. Never fails, and takes at most half a second: what cannot
    /// be opened is set aside (the last such thing is kept) and an empty one begun; where that fails
    /// too, or another process has it, it lives in memory only. An opening that takes longer goes on;
    /// until it ends everything is a miss and what is put waits. Must be called inside a tokio runtime.
    pub async fn open(folder: PathBuf) -> Self {
        Self::open_with(folder, Box::new(open_trees), MOST_ON_DISK).await
    }

    /// One that lives in memory only.
    pub fn memory() -> Self {
        let phase = Phase::Memory(memory::Memory::default());
        let shared = Arc::new(Shared::new(phase));
        let open = watch::channel(()).1;
        Self(Arc::new(Held { shared, open }))
    }

    /// Anything that is wrong with a value is a miss, and a store that does not answer too.
    pub async fn get(&self, space: Space, key: Key) -> Option<Vec<u8>> {
        let value = match self.shared().find(space, key) {
            Found::Now(value) => value,
            Found::Later(found) => match timeout(READING, found).await {
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
    /// before then stays. A value that is longer than [`MOST_VALUE`] is not kept.
    pub fn put(&self, space: Space, key: Key, value: Vec<u8>) {
        let value = (value.len() <= MOST_VALUE).then(|| Arc::new(value));
        self.shared().enter(space, key, value);
    }

    pub fn remove(&self, space: Space, key: Key) {
        self.shared().enter(space, key, None);
    }

    pub async fn clear(&self, space: Space) {
        let cleared = self.shared().ask(
            |done| Write::Clear(space, done),
            |memory| memory.clear(space),
        );
        if let Err(cleared) = cleared {
            drop(timeout(READING_ALL, cleared).await);
        }
    }

    /// In no order. None of it if that takes longer than a second.
    pub async fn all(&self, space: Space) -> Vec<(Key, Vec<u8>)> {
        let all = self
            .shared()
            .ask(|all| Write::All(space, all), |memory| memory.all(space));
        match all {
            Ok(all) => all,
            Err(all) => match timeout(READING_ALL, all).await {
                Ok(all) => all.unwrap_or_default(),
                Err(_) => Vec::new(),
            },
        }
    }

    /// Everything that was put before is on the disk, unless that takes longer than two seconds.
    pub async fn flush(&self) {
        if let Err(flushed) = self.shared().ask(Write::Flush, |_| ()) {
            drop(timeout(FLUSHING, flushed).await);
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
        if matches!(state.phase, Phase::Opening) {
            status.problem = Some("it is still being opened".into());
        }
        status
    }

    async fn open_with(folder: PathBuf, opener: Opener, most: u64) -> Self {
        hush::hush(THREADS);
        let shared = Arc::new(Shared::new(Phase::Opening));
        let version = format!("v{}-{STORE}", envelope::FORMAT);
        let (opened, is_open) = oneshot::channel();
        let reader = Arc::clone(&shared);
        let writer = Arc::clone(&shared);
        let take = move || Place::take(&folder, &version, opener);
        let (closed, open) = watch::channel(());
        let started = start(READER, move || reader::run(&reader)).and_then(|()| {
            start(WRITER, move || {
                writer::run(writer, take, most, opened);
                drop(closed);
            })
        });
        if let Err(error) = started {
            shared.forsake(format!("its threads do not start: {error}"));
        }
        drop(timeout(OPENING, is_open).await);
        Self(Arc::new(Held { shared, open }))
    }

    fn shared(&self) -> &Shared {
        &self.0.shared
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// One that may be lost in the store, and is not waited for.
fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name(name.into());
    thread.spawn(work).map(drop)
}

/// The store, with one tree for each space.
struct Trees {
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
        .cache_capacity(PAGES)
        // Its own thread would sync the file twice a second for ever, cannot be told from one that
        // panicked, and is waited for without a limit when the store is dropped: `writer` flushes.
        .flush_every_ms(None)
        .open()?;
    Ok(Box::new(Trees {
        catalogs: db.open_tree("catalogs")?,
        types: db.open_tree("types")?,
        shapes: db.open_tree("shapes")?,
        verdicts: db.open_tree("verdicts")?,
        eras: db.open_tree("eras")?,
        usage: db.open_tree("usage")?,
        db,
    }))
}

impl Trees {
    fn tree(&self, space: Space) -> &Tree {
        match space {
            Space::Catalogs => &self.catalogs,
            Space::Types => &self.types,
            Space::Shapes => &self.shapes,
            Space::Verdicts => &self.verdicts,
            Space::Eras => &self.eras,
            Space::Usage => &self.usage,
        }
    }
}

impl Store for Trees {
    fn get(&self, space: Space, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.tree(space).get(key)?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn put(&self, space: Space, key: &Key, sealed: Vec<u8>) -> Result<(), StoreError> {
        self.tree(space).insert(key, sealed)?;
        Ok(())
    }

    fn remove(&self, space: Space, key: &[u8]) -> Result<(), StoreError> {
        self.tree(space).remove(key)?;
        Ok(())
    }

    fn clear(&self, space: Space) -> Result<(), StoreError> {
        Ok(self.tree(space).clear()?)
    }

    fn all(&self, space: Space) -> Result<Entries, StoreError> {
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
