//! The values on the disk and what is known of them. Everything here may wait for the disk.
//!
//! Invariant: what is on the shelf is in the folder, unless somebody else has touched that.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use mux_wire::{Fault, Kind};
use tracing::{debug, warn};

use super::{
    Handle, StoredValueLimits,
    folder::Folder,
    name::Name,
    owner::Owner,
    page::{self, Page},
    shelf::Shelf,
};

/// How long the disk may take for one value.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Characters.
const PREVIEW: usize = 500;

/// Why a value is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeepError {
    #[error("it is longer than all values together may be, {quota} bytes")]
    OverQuota { quota: u64 },
    #[error("the disk did not take it: {0}")]
    Disk(#[from] io::Error),
    #[error("the disk did not answer within {PATIENCE:?}")]
    Slow,
}

pub(super) struct Store {
    folder: Folder,
    terms: RwLock<StoredValueLimits>,
    /// Locked on threads for blocking work only, and there while a file is written.
    shelf: Mutex<Shelf>,
}

impl Store {
    pub(super) fn new(folder: PathBuf, terms: StoredValueLimits) -> Self {
        Self {
            folder: Folder::new(folder),
            terms: RwLock::new(terms),
            shelf: Mutex::default(),
        }
    }

    pub(super) fn set_terms(&self, terms: StoredValueLimits) {
        *self.terms.write().unwrap_or_else(PoisonError::into_inner) = terms;
    }

    pub(super) fn terms(&self) -> StoredValueLimits {
        *self.terms.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    #[cfg(all(test, unix))]
    pub(super) fn bytes(&self) -> u64 {
        self.shelf().bytes()
    }

    /// Counts what earlier daemons have left, and clears away what they would not have.
    pub(super) fn take_stock(&self) {
        let found = match self.folder.prepare().and_then(|()| self.folder.scan()) {
            Ok(found) => found,
            Err(error) => {
                let folder = self.folder.path().display();
                warn!(%error, %folder, "long values cannot be kept until this is mended");
                return;
            }
        };
        let (mut shelf, left) = (self.shelf(), Owner::default());
        for (name, bytes, stored) in found {
            shelf.insert(name, &left, (bytes, stored), false);
        }
        let terms = self.terms();
        let expired = shelf.expired(terms.keep_for);
        let surplus = shelf.make_room(0, &left, terms.quota);
        self.remove(expired.into_iter().chain(surplus));
        debug!(values = shelf.len(), bytes = shelf.bytes(), "long values");
    }

    pub(super) fn clean(&self) {
        let mut shelf = self.shelf();
        self.remove(shelf.expired(self.terms().keep_for));
    }

    pub(super) fn keep(&self, text: &str, owner: &Owner) -> Result<Handle, KeepError> {
        let (terms, name) = (self.terms(), Name::of(text));
        let bytes = text.len() as u64;
        if bytes > terms.quota {
            let quota = terms.quota;
            return Err(KeepError::OverQuota { quota });
        }
        let mut shelf = self.shelf();
        let now = SystemTime::now();
        // What was there at the start may be damaged, and is written anew.
        if !(shelf.is_verified(&name) && self.folder.refresh(&name, now)) {
            let others = shelf.remove(&name);
            self.remove(shelf.make_room(bytes, owner, terms.quota));
            self.folder.write(&name, text)?;
            for other in &others {
                shelf.insert(name.clone(), other, (bytes, now), true);
            }
        }
        shelf.insert(name.clone(), owner, (bytes, now), true);
        Ok(Handle {
            name: name.to_string(),
            bytes,
            preview: text.chars().take(PREVIEW).collect(),
            expires: now + terms.keep_for,
        })
    }

    pub(super) fn read(
        &self,
        name: &Name,
        offset: u64,
        length: Option<u64>,
    ) -> Result<Page, Fault> {
        let total = self.find(name)?;
        let wanted = page::Wanted::new(offset, length, total);
        let bytes = self.folder.read(name, total, wanted.range());
        bytes
            .and_then(|bytes| wanted.cut(&bytes))
            .map_err(|error| self.damaged(name, &error))
    }

    pub(super) fn whole(&self, name: &Name, most: usize) -> Result<String, Fault> {
        let total = self.find(name)?;
        if total > most as u64 {
            let message = format!("the value of {name} is {total} bytes, over the limit of {most}");
            return Err(Fault::new(Kind::Limit, message).hint(format!(
                "read it in parts: mux.read(\"{name}\", {{ offset: 0, length: {} }}), and on from \
                 `next` until that is null",
                page::DEFAULT_LENGTH
            )));
        }
        let bytes = self.folder.read(name, total, 0..total);
        bytes
            .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
            .map_err(|error| self.damaged(name, &error))
    }

    /// The length of a value that is there and is what its name says.
    fn find(&self, name: &Name) -> Result<u64, Fault> {
        let (bytes, verified) = {
            let mut shelf = self.shelf();
            self.remove(shelf.expired_one(name, self.terms().keep_for));
            shelf.touch(name).ok_or_else(|| self.unknown(name))?
        };
        if !verified {
            let text = self.folder.read(name, bytes, 0..bytes);
            let text = text.map_err(|error| self.damaged(name, &error))?;
            if Name::of_bytes(&text) != *name {
                return Err(self.damaged(name, &io::Error::other("its content has changed")));
            }
            self.shelf().set_verified(name);
        }
        Ok(bytes)
    }

    fn damaged(&self, name: &Name, error: &io::Error) -> Fault {
        if error.kind() == io::ErrorKind::NotFound {
            // It has just given way to another, or somebody has cleared the cache.
            self.shelf().remove(name);
            return self.unknown(name);
        }
        warn!(%name, %error, "a long value is lost");
        self.shelf().remove(name);
        self.folder.remove(name);
        Fault::new(
            Kind::NotFound,
            format!("the value of {name} was damaged on the disk: {error}"),
        )
        .hint("make it again: run the program, or make the call, once more")
    }

    fn unknown(&self, name: &Name) -> Fault {
        let terms = self.terms();
        Fault::new(Kind::NotFound, format!("no value is kept as {name}")).hint(format!(
            "a value is kept for {} and while all of them together are at most {} bytes (`kept_for` \
             and `kept` in [limits] of config.toml); make it again",
            humantime::format_duration(terms.keep_for),
            terms.quota
        ))
    }

    fn remove(&self, names: impl IntoIterator<Item = Name>) {
        for name in names {
            self.folder.remove(&name);
        }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
