//! Values that are too long for a message: kept on the disk, named by their content, read in parts.
//!
//! Invariants: no file is touched on a thread of the runtime, and a value that cannot be kept is not lost while a message
//! can carry it. Nothing lists the names: whoever has one was given it, or has the value. Nobody loses a value to another
//! who keeps more.

mod folder;
mod name;
mod owner;
mod page;
mod shelf;
mod store;

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use mux_wire::{Fault, Kind};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tracing::warn;

pub use self::page::Page;
use self::{
    name::Name,
    owner::Owner,
    store::{KeepError, PATIENCE, Store},
};
use mux_caller::Origin;
use mux_settings::StoredValueLimits;

/// Files that are read or written at once.
const AT_ONCE: usize = 4;
/// How long it is left alone after it did not answer.
const REST: Duration = Duration::from_secs(60);
/// How often the folder is rid of what has expired.
const CLEANING: Duration = Duration::from_secs(10 * 60);
/// What a message carries if the disk does not; a frame is 16 MiB and JSON may grow when it is written
/// anew.
const MOST_INLINE: usize = 12 << 20;
/// A value as JSON text, or where it is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    Inline(String),
    Stored(Handle),
}

/// A value that is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Handle {
    pub name: String,
    /// Of its JSON text.
    pub bytes: u64,
    /// How the text begins.
    pub preview: String,
    pub expires: SystemTime,
}

#[derive(Clone)]
pub struct Handles {
    inner: Arc<Inner>,
    owner: Owner,
}

struct Inner {
    store: Store,
    /// What earlier daemons have left has been counted.
    opened: watch::Receiver<bool>,
    places: Arc<Semaphore>,
    refusal: Mutex<Refusal>,
}

/// What became of the last value that was to be kept. Guarded by `Inner::refusal`.
#[derive(Default)]
struct Refusal {
    /// The disk refused it, which was told.
    told: bool,
    /// The disk did not answer: nobody else waits for it before this.
    rest: Option<Instant>,
}

impl Handles {
    /// Looks in the background at what is in the folder. Must be called inside a tokio runtime.
    pub fn open(folder: PathBuf, terms: StoredValueLimits) -> Self {
        let (sender, opened) = watch::channel(false);
        let inner = Arc::new(Inner {
            store: Store::new(folder, terms),
            opened,
            places: Arc::new(Semaphore::new(AT_ONCE)),
            refusal: Mutex::default(),
        });
        let handles = Self {
            inner: Arc::clone(&inner),
            owner: Owner::default(),
        };
        let store = Arc::downgrade(&inner);
        tokio::spawn(async move {
            drop(tokio::task::spawn_blocking(move || inner.store.take_stock()).await);
            sender.send_replace(true);
            let mut ticks = interval(CLEANING);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(inner) = store.upgrade() else { return };
                drop(tokio::task::spawn_blocking(move || inner.store.clean()).await);
            }
        });
        handles
    }

    /// What is kept from here on is kept for this client and its agent.
    pub fn of(&self, origin: &Origin) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            owner: Owner::of(origin),
        }
    }

    pub fn set_terms(&self, terms: StoredValueLimits) {
        self.inner.store.set_terms(terms);
    }

    /// Longer values are kept.
    pub fn inline(&self) -> usize {
        self.inner.store.terms().inline.min(MOST_INLINE)
    }

    /// The value itself if it is short, otherwise its handle. A value that cannot be kept stays what it
    /// is where a message can carry it; what is amiss is told then. `what` begins the error.
    pub async fn hold(&self, text: String, what: &str) -> Result<(Held, Option<String>), Fault> {
        if text.len() <= self.inline() {
            return Ok((Held::Inline(text), None));
        }
        let text = Arc::new(text);
        let error = match self.try_keep(Arc::clone(&text)).await {
            Ok(handle) => return Ok((Held::Stored(handle), None)),
            Err(error) => error,
        };
        let bytes = text.len();
        if bytes <= MOST_INLINE {
            let warning = format!("{what} is {bytes} bytes and could not be kept: {error}");
            return Ok((Held::Inline(Arc::unwrap_or_clone(text)), Some(warning)));
        }
        Err(lost(what, bytes, &error))
    }

    /// Keeps a value, however short it is.
    pub async fn keep(&self, text: String, what: &str) -> Result<Handle, Fault> {
        let bytes = text.len();
        let kept = self.try_keep(Arc::new(text)).await;
        kept.map_err(|error| lost(what, bytes, &error))
    }

    /// A part of a value. An offset within a character is moved back to its beginning; no character is
    /// torn at the end either, so that the pages together are the text.
    pub async fn read(
        &self,
        handle: &str,
        offset: u64,
        length: Option<u64>,
    ) -> Result<Page, Fault> {
        let name = Name::parse(handle)?;
        let read = self.on_disk(move |store| store.read(&name, offset, length));
        read.await.unwrap_or_else(|error| Err(unreadable(&error)))
    }

    /// All of a value, if it is no longer than this.
    pub async fn whole(&self, handle: &str, most: usize) -> Result<String, Fault> {
        let name = Name::parse(handle)?;
        let read = self.on_disk(move |store| store.whole(&name, most));
        read.await.unwrap_or_else(|error| Err(unreadable(&error)))
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
        let kept = self.on_disk(move |store| store.keep(&text, &owner));
        let kept = kept.await.and_then(|kept| kept);
        let mut refusal = self.refusal();
        refusal.rest = matches!(kept, Err(KeepError::Slow)).then(|| Instant::now() + REST);
        let told = refusal.told;
        refusal.told = matches!(kept, Err(KeepError::Disk(_) | KeepError::Slow));
        if let Err(error) = &kept
            && refusal.told
            && !told
        {
            warn!(%error, folder = %self.inner.store.folder().display(), "cannot keep a long value");
        }
        kept
    }

    fn refusal(&self) -> MutexGuard<'_, Refusal> {
        self.inner
            .refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Does it on a thread that may wait for the disk.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> T + Send + 'static,
    ) -> Result<T, KeepError> {
        let inner = Arc::clone(&self.inner);
        let done = async move {
            let mut opened = inner.opened.clone();
            // Without the sender the look into the folder has failed; what comes now is still kept.
            drop(opened.wait_for(|opened| *opened).await);
            let place = Arc::clone(&inner.places).acquire_owned().await;
            tokio::task::spawn_blocking(move || {
                // Held until the disk is done, however long somebody waited for it.
                let _place = place;
                work(&inner.store)
            })
            .await
        };
        match timeout(PATIENCE, done).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(failure)) => Err(KeepError::Disk(io::Error::other(failure))),
            Err(_) => Err(KeepError::Slow),
        }
    }
}

fn lost(what: &str, bytes: usize, error: &KeepError) -> Fault {
    let message = format!("{what} is {bytes} bytes and could not be kept: {error}");
    match error {
        KeepError::OverQuota { .. } => Fault::new(Kind::Limit, message)
            .hint("ask for less at once, or raise `kept` in [limits] of config.toml"),
        KeepError::Disk(_) | KeepError::Slow => Fault::new(Kind::Unavailable, message).hints(
            "ask for less at once, or mend the cache directory; see `mux logs`",
            "ask for less at once; the user finds the reason with `mux logs`",
        ),
    }
}

fn unreadable(error: &KeepError) -> Fault {
    Fault::new(
        Kind::Unavailable,
        format!("the value cannot be read: {error}"),
    )
    .hints(
        "try again; see `mux logs`",
        "try again; the user finds the reason with `mux logs`",
    )
}

#[cfg(all(test, unix))]
mod tests;
