//! The interface of a store on disk, and the handling of its panics.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
};

use thiserror::Error;
use tracing::warn;

use super::{CLOSER_THREAD, CacheSpace, DigestKey, timer_slack::TimerSlackGuard};

/// Keys and sealed values as stored on disk.
pub(super) type StoreEntries = Vec<(Vec<u8>, Vec<u8>)>;

/// A store on disk. Every method may block, fail, panic, or hang.
pub(super) trait Store: Send + Sync {
    fn get(&self, space: CacheSpace, key: &DigestKey) -> Result<Option<Vec<u8>>, StoreError>;
    fn put(&self, space: CacheSpace, key: &DigestKey, sealed: Vec<u8>) -> Result<(), StoreError>;
    fn remove(&self, space: CacheSpace, key: &[u8]) -> Result<(), StoreError>;
    fn clear(&self, space: CacheSpace) -> Result<(), StoreError>;
    fn all(&self, space: CacheSpace) -> Result<StoreEntries, StoreError>;
    /// Returns when everything that was put is on disk.
    fn flush(&self) -> Result<(), StoreError>;
    fn bytes(&self) -> Result<u64, StoreError>;
}

/// Opens or creates the store in a directory.
pub(super) type StoreOpener = Box<dyn Fn(&Path) -> Result<Box<dyn Store>, StoreError> + Send>;

/// A store in use. Dropping it does not block: a new thread closes the store.
pub(super) struct OpenStore(Option<Box<dyn Store>>);

#[derive(Debug, Error)]
pub(super) enum StoreError {
    #[error("another process holds its lock")]
    Locked,
    /// The disk has no space for the store, or the daemon may not write it. The store may be intact.
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

/// Runs `work` and turns a panic into an error. Threads that the store starts meanwhile get a large timer slack.
pub(super) fn catch_panics<T>(
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let _threads = TimerSlackGuard::begin();
    // Only the store can be left inconsistent, and a store that panicked is not used again.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        let line = text.lines().next().unwrap_or(text);
        Err(StoreError::Broken(format!("it panicked: {line}")))
    })
}

impl OpenStore {
    pub(super) fn new(store: Box<dyn Store>) -> Self {
        Self(Some(store))
    }

    /// Uses the store, with panics caught.
    pub(super) fn run_fenced<T>(
        &self,
        question: impl FnOnce(&dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // Unreachable: it is `Some` until it is dropped.
        let closed = || StoreError::Broken("it is closed".into());
        let store = self.0.as_deref().ok_or_else(closed)?;
        catch_panics(|| question(store))
    }

    /// Closes the store on this thread, however long that takes.
    pub(super) fn close(mut self) {
        close_store(self.0.take());
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        let Some(store) = self.0.take() else { return };
        let thread = thread::Builder::new().name(CLOSER_THREAD.into());
        if let Err(error) = thread.spawn(move || close_store(Some(store))) {
            warn!(%error, "cannot start a thread to close the cache");
        }
    }
}

fn close_store(store: Option<Box<dyn Store>>) {
    let closed = catch_panics(|| {
        drop(store);
        Ok(())
    });
    if let Err(error) = closed {
        warn!(%error, "failed to close the cache");
    }
}
