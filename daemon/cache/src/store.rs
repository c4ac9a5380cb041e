//! What the cache asks of a store on the disk, and a fence around each question.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
};

use thiserror::Error;
use tracing::warn;

use super::{CLOSER_THREAD, CacheSpace, DigestKey, timer_slack::TimerSlackGuard};

/// Keys and values as they stand on the disk.
pub(super) type StoreEntries = Vec<(Vec<u8>, Vec<u8>)>;

/// Every method may block, fail, panic, or never come back.
pub(super) trait Store: Send + Sync {
    fn get(&self, space: CacheSpace, key: &DigestKey) -> Result<Option<Vec<u8>>, StoreError>;
    fn put(&self, space: CacheSpace, key: &DigestKey, sealed: Vec<u8>) -> Result<(), StoreError>;
    fn remove(&self, space: CacheSpace, key: &[u8]) -> Result<(), StoreError>;
    fn clear(&self, space: CacheSpace) -> Result<(), StoreError>;
    fn all(&self, space: CacheSpace) -> Result<StoreEntries, StoreError>;
    /// What was put is on the disk.
    fn flush(&self) -> Result<(), StoreError>;
    fn bytes(&self) -> Result<u64, StoreError>;
}

/// Opens the store in this directory, or makes it.
pub(super) type StoreOpener = Box<dyn Fn(&Path) -> Result<Box<dyn Store>, StoreError> + Send>;

/// A store that is in use. Dropping it costs nothing: a thread of its own closes it then, which may
/// take its time as everything else may.
pub(super) struct OpenStore(Option<Box<dyn Store>>);

#[derive(Debug, Error)]
pub(super) enum StoreError {
    #[error("another process holds its lock")]
    Locked,
    /// The store may be sound; the system has no room for it, or no right.
    #[error("{0}")]
    NoRoom(io::Error),
    #[error("{0}")]
    Broken(String),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match error.kind() {
            FileTooLarge | QuotaExceeded | ReadOnlyFilesystem | StorageFull => Self::NoRoom(error),
            _ => Self::Broken(error.to_string()),
        }
    }
}

/// Does it, and ends no thread if it panics. Threads that the store starts meanwhile cost an idle daemon nothing.
pub(super) fn catch_panics<T>(
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let _threads = TimerSlackGuard::begin();
    // What it leaves half done is in the store, and a store that panicked is not used again.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("without a word");
        let line = text.lines().next().unwrap_or(text);
        Err(StoreError::Broken(format!("it panicked: {line}")))
    })
}

impl OpenStore {
    pub(super) fn new(store: Box<dyn Store>) -> Self {
        Self(Some(store))
    }

    /// Asks it, behind the fence.
    pub(super) fn run_fenced<T>(
        &self,
        question: impl FnOnce(&dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // It is there until it is dropped.
        let closed = || StoreError::Broken("it is closed".into());
        let store = self.0.as_deref().ok_or_else(closed)?;
        catch_panics(|| question(store))
    }

    /// Closes it here, however long that takes.
    pub(super) fn close(mut self) {
        close_store(self.0.take());
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        let Some(store) = self.0.take() else { return };
        let thread = thread::Builder::new().name(CLOSER_THREAD.into());
        if let Err(error) = thread.spawn(move || close_store(Some(store))) {
            warn!(%error, "the cache was closed in haste");
        }
    }
}

fn close_store(store: Option<Box<dyn Store>>) {
    let closed = catch_panics(|| {
        drop(store);
        Ok(())
    });
    if let Err(error) = closed {
        warn!(%error, "the cache did not close well");
    }
}
