//! Values that are too long for a message: stored on disk, named by their content, read in pages.
//!
//! This crate depends on callers, settings, `mux-files` and `mux-process`. This crate does not depend on runs, which
//! pass results and parts to it.
//!
//! - `handle_name`: the name of a value, 128 bits of its hash, keyed with a secret of the installation. `value_folder`:
//!   the files, one for each value. `inline_value`: the check of a value that is not stored. `value_index`: the stored
//!   values with their owners (`value_owner`), in order of last use. `value_store` combines folder and index.
//!   `value_page` cuts a text into pages of whole characters.
//!
//! Invariants:
//!
//! - No file is accessed on a runtime thread.
//! - A value that cannot be stored is not lost as long as it fits a message (up to 12 MiB).
//! - Names are never listed: a client has a name because it was given the handle, or because it has the value. An owner
//!   never loses a value to an owner who stores more.

mod handle_name;
mod inline_value;
mod value_folder;
mod value_index;
mod value_owner;
mod value_page;
mod value_store;

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};

use mux_messages::{Handle, Held, ReadPage};
use mux_wire::{Fault, FaultKind};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tracing::warn;

pub use self::inline_value::inline_value;
use self::{
    handle_name::HandleName,
    value_owner::ValueOwner,
    value_store::{DISK_TIMEOUT, KeepError, ValueStore},
};
use mux_caller::ClientOrigin;
use mux_settings::StoredValueLimits;

/// The maximum number of files that are read or written at the same time.
const MAX_CONCURRENT_DISK_TASKS: usize = 4;
/// How long the disk is not used after it did not respond.
const DISK_BACKOFF: Duration = Duration::from_mins(1);
/// How often expired values are removed.
const EXPIRY_SWEEP_INTERVAL: Duration = Duration::from_mins(10);
/// The maximum size of a value in a message. A frame is 16 MiB, and JSON may grow when it is escaped again.
const MAX_INLINE_BYTES: usize = 12 << 20;

#[derive(Clone)]
pub struct StoredValues {
    inner: Arc<StoredValuesInner>,
    owner: ValueOwner,
}

struct StoredValuesInner {
    store: ValueStore,
    /// True after the existing files have been loaded.
    opened: watch::Receiver<bool>,
    disk_permits: Arc<Semaphore>,
    refusal: Mutex<KeepFailureState>,
}

/// Failures to store a value. Guarded by `StoredValuesInner::refusal`.
#[derive(Default)]
struct KeepFailureState {
    /// True if the last value could not be stored and this was logged.
    is_reported: bool,
    /// The disk did not respond: it is not used before this time.
    rest: Option<Instant>,
}

impl StoredValues {
    /// Opens the folder and loads its files in the background. Must be called inside a tokio runtime.
    /// `key_file` has the secret of the names, and is created if it does not exist.
    pub fn open(folder: PathBuf, key_file: PathBuf, limits: StoredValueLimits) -> Self {
        let (sender, opened) = watch::channel(false);
        let inner = Arc::new(StoredValuesInner {
            store: ValueStore::new(folder, key_file, limits),
            opened,
            disk_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_DISK_TASKS)),
            refusal: Mutex::default(),
        });
        let handles = Self {
            inner: Arc::clone(&inner),
            owner: ValueOwner::default(),
        };
        let store = Arc::downgrade(&inner);
        tokio::spawn(async move {
            drop(tokio::task::spawn_blocking(move || inner.store.load_existing()).await);
            sender.send_replace(true);
            let mut ticks = interval(EXPIRY_SWEEP_INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(inner) = store.upgrade() else { return };
                drop(tokio::task::spawn_blocking(move || inner.store.remove_expired()).await);
            }
        });
        handles
    }

    /// A clone that stores values for this client and agent.
    #[must_use]
    pub fn for_origin(&self, origin: &ClientOrigin) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            owner: ValueOwner::of(origin),
        }
    }

    pub fn set_limits(&self, limits: StoredValueLimits) {
        self.inner.store.update_limits(limits);
    }

    /// The size above which a value is stored.
    pub fn max_inline_bytes(&self) -> usize {
        self.inner.store.limits().inline.min(MAX_INLINE_BYTES)
    }

    /// Returns the value itself if it is short, otherwise stores it and returns the handle. If the value cannot be
    /// stored but fits into a message, returns the value with a warning. `what` is the subject of the error message.
    pub async fn inline_or_keep(
        &self,
        text: String,
        what: &str,
    ) -> Result<(Held, Option<String>), Fault> {
        if text.len() <= self.max_inline_bytes() {
            return Ok((inline_value(text, what)?, None));
        }
        let text = Arc::new(text);
        let error = match self.try_keep(Arc::clone(&text)).await {
            Ok(handle) => return Ok((Held::Stored(handle), None)),
            Err(error) => error,
        };
        let bytes = text.len();
        if bytes <= MAX_INLINE_BYTES {
            let warning = format!("{what} is {bytes} bytes and could not be kept: {error}");
            let value = inline_value(Arc::unwrap_or_clone(text), what)?;
            return Ok((value, Some(warning)));
        }
        Err(not_kept_fault(what, bytes, &error))
    }

    /// Stores a value, however short it is.
    pub async fn keep(&self, text: String, what: &str) -> Result<Handle, Fault> {
        let bytes = text.len();
        let kept = self.try_keep(Arc::new(text)).await;
        kept.map_err(|error| not_kept_fault(what, bytes, &error))
    }

    /// Reads a part of a value. Both ends are moved back to the start of a character, which makes consecutive pages add
    /// up to the text.
    pub async fn read_page(
        &self,
        handle: &str,
        offset: u64,
        length: Option<u64>,
    ) -> Result<ReadPage, Fault> {
        let name = HandleName::parse(handle)?;
        let read = self.run_on_disk_thread(move |store| store.read(&name, offset, length));
        read.await
            .unwrap_or_else(|error| Err(unreadable_fault(&error)))
    }

    /// Reads a whole value, if it is at most `most` bytes long.
    pub async fn read_whole(&self, handle: &str, most: usize) -> Result<String, Fault> {
        let name = HandleName::parse(handle)?;
        let read = self.run_on_disk_thread(move |store| store.read_all(&name, most));
        read.await
            .unwrap_or_else(|error| Err(unreadable_fault(&error)))
    }

    async fn try_keep(&self, text: Arc<String>) -> Result<Handle, KeepError> {
        if self
            .refusal()
            .rest
            .is_some_and(|until| Instant::now() < until)
        {
            return Err(KeepError::Slow);
        }
        let owner = self.owner.clone();
        let kept = self.run_on_disk_thread(move |store| store.keep(&text, &owner));
        let kept = kept.await.and_then(|kept| kept);
        let mut refusal = self.refusal();
        refusal.rest = matches!(kept, Err(KeepError::Slow)).then(|| Instant::now() + DISK_BACKOFF);
        let was_reported = refusal.is_reported;
        refusal.is_reported = matches!(kept, Err(KeepError::Disk(_) | KeepError::Slow));
        if let Err(error) = &kept
            && refusal.is_reported
            && !was_reported
        {
            warn!(%error, folder = %self.inner.store.folder().display(), "cannot keep a long value");
        }
        kept
    }

    fn refusal(&self) -> MutexGuard<'_, KeepFailureState> {
        self.inner.refusal.lock()
    }

    /// Runs `work` on a blocking thread, with a timeout.
    async fn run_on_disk_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ValueStore) -> T + Send + 'static,
    ) -> Result<T, KeepError> {
        let inner = Arc::clone(&self.inner);
        let done = async move {
            let mut opened = inner.opened.clone();
            // An error means that loading has panicked. New values can still be stored.
            drop(opened.wait_for(|opened| *opened).await);
            let place = Arc::clone(&inner.disk_permits).acquire_owned().await;
            tokio::task::spawn_blocking(move || {
                // Held until the work is done, even after the timeout.
                let _place = place;
                work(&inner.store)
            })
            .await
        };
        match timeout(DISK_TIMEOUT, done).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(failure)) => Err(KeepError::Disk(io::Error::other(failure))),
            Err(_) => Err(KeepError::Slow),
        }
    }
}

fn not_kept_fault(what: &str, bytes: usize, error: &KeepError) -> Fault {
    let message = format!("{what} is {bytes} bytes and could not be kept: {error}");
    match error {
        KeepError::OverQuota { .. } => Fault::new(FaultKind::Limit, message)
            .hint("request less at once, or raise `kept` in [limits] of config.toml"),
        KeepError::Disk(_) | KeepError::Slow => Fault::new(FaultKind::Unavailable, message).hints(
            "request less at once, or fix the cache directory; see `mux logs`",
            "request less at once; the user can find the reason with `mux logs`",
        ),
    }
}

fn unreadable_fault(error: &KeepError) -> Fault {
    Fault::new(
        FaultKind::Unavailable,
        format!("the value cannot be read: {error}"),
    )
    .hints(
        "try again; see `mux logs`",
        "try again; the user can find the reason with `mux logs`",
    )
}

#[cfg(all(test, unix))]
mod tests;
