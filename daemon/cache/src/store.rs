//! What the cache asks of a store on the disk, and a fence around each question.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
};

use thiserror::Error;
use tracing::warn;

use super::{CLOSER, Key, Space, leisure::Leisure};

/// Keys and values as they stand on the disk.
pub(super) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Every method may block, fail, panic, or never come back.
pub(super) trait Store: Send + Sync {
    fn get(&self, space: Space, key: &Key) -> Result<Option<Vec<u8>>, StoreError>;
    fn put(&self, space: Space, key: &Key, sealed: Vec<u8>) -> Result<(), StoreError>;
    fn remove(&self, space: Space, key: &[u8]) -> Result<(), StoreError>;
    fn clear(&self, space: Space) -> Result<(), StoreError>;
    fn all(&self, space: Space) -> Result<Entries, StoreError>;
    /// What was put is on the disk.
    fn flush(&self) -> Result<(), StoreError>;
    fn bytes(&self) -> Result<u64, StoreError>;
}

/// Opens the store in this directory, or makes it.
pub(super) type Opener = Box<dyn Fn(&Path) -> Result<Box<dyn Store>, StoreError> + Send>;

/// A store that is in use. Dropping it costs nothing: a thread of its own closes it then, which may
/// take its time as everything else may.
pub(super) struct InUse(Option<Box<dyn Store>>);

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
pub(super) fn fenced<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let _threads = Leisure::begin();
    // What it leaves half done is in the store, and a store that panicked is not used again.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("without a word");
        let line = text.lines().next().unwrap_or(text);
        Err(StoreError::Broken(format!("it panicked: {line}")))
    })
}

impl InUse {
    pub(super) fn new(store: Box<dyn Store>) -> Self {
        Self(Some(store))
    }

    /// Asks it, behind the fence.
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // It is there until it is dropped.
        let closed = || StoreError::Broken("it is closed".into());
        let store = self.0.as_deref().ok_or_else(closed)?;
        fenced(|| question(store))
    }

    /// Closes it here, however long that takes.
    pub(super) fn close(mut self) {
        close(self.0.take());
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let Some(store) = self.0.take() else { return };
        let thread = thread::Builder::new().name(CLOSER.into());
        if let Err(error) = thread.spawn(move || close(Some(store))) {
            warn!(%error, "the cache was closed in haste");
        }
    }
}

fn close(store: Option<Box<dyn Store>>) {
    let closed = fenced(|| {
        drop(store);
        Ok(())
    });
    if let Err(error) = closed {
        warn!(%error, "the cache did not close well");
    }
}
