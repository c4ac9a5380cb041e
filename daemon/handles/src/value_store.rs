//! The stored values: the folder and its index. Everything here may block on the disk.
//!
//! Invariant: every value in the index is in the folder, unless the folder was changed by others.

use std::{
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{Duration, SystemTime},
};

use mux_files::{private_file::ensure_folder, secret_key};
use parking_lot::{Mutex, MutexGuard, RwLock};

use mux_messages::{Handle, ReadPage, millis};
use mux_wire::{Fault, FaultKind};
use tracing::{debug, warn};

use super::{
    StoredValueLimits,
    handle_name::{HandleName, NameKey},
    value_folder::ValueFolder,
    value_index::ValueIndex,
    value_owner::ValueOwner,
    value_page,
};

/// The time limit of a disk operation on one value.
pub(super) const DISK_TIMEOUT: Duration = Duration::from_secs(10);
const PREVIEW_CHARS: usize = 500;

/// Why a value could not be stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeepError {
    #[error("it exceeds the limit for all stored values, {quota} bytes")]
    OverQuota { quota: u64 },
    #[error("it could not be written: {0}")]
    Disk(#[from] io::Error),
    #[error("the disk did not respond within {DISK_TIMEOUT:?}")]
    Slow,
}

pub(super) struct ValueStore {
    folder: ValueFolder,
    /// The file with the key of names.
    key_file: PathBuf,
    /// Read when it is first needed.
    key: OnceLock<NameKey>,
    limits: RwLock<StoredValueLimits>,
    /// Locked only on blocking threads, which hold it while they write a file.
    index: Mutex<ValueIndex>,
}

impl ValueStore {
    pub(super) fn new(folder: PathBuf, key_file: PathBuf, limits: StoredValueLimits) -> Self {
        Self {
            folder: ValueFolder::new(folder),
            key_file,
            key: OnceLock::new(),
            limits: RwLock::new(limits),
            index: Mutex::default(),
        }
    }

    pub(super) fn update_limits(&self, limits: StoredValueLimits) {
        *self.limits.write() = limits;
    }

    pub(super) fn limits(&self) -> StoredValueLimits {
        *self.limits.read()
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    #[cfg(all(test, unix))]
    pub(super) fn bytes(&self) -> u64 {
        self.index().bytes()
    }

    /// Loads the files of earlier daemons, and removes expired and excess ones.
    pub(super) fn load_existing(&self) {
        let folder = ensure_folder(self.folder.path());
        let found = match folder.and_then(|()| self.folder.scan()) {
            Ok(found) => found,
            Err(error) => {
                let folder = self.folder.path().display();
                warn!(%error, %folder, "long values cannot be stored");
                return;
            }
        };
        let mut index = self.index();
        let left = ValueOwner::default();
        for (name, bytes, stored) in found {
            index.insert(name, &left, bytes, stored, false);
        }
        let limits = self.limits();
        let expired = index.take_expired(limits.keep_for);
        let surplus = index.evict_until_fits(0, &left, limits.quota);
        self.remove(expired.into_iter().chain(surplus));
        debug!(
            values = index.len(),
            bytes = index.bytes(),
            "loaded stored values"
        );
    }

    pub(super) fn remove_expired(&self) {
        let mut index = self.index();
        self.remove(index.take_expired(self.limits().keep_for));
    }

    /// The key of names, from its file, which is created if it does not exist.
    fn key(&self) -> Result<&NameKey, io::Error> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let read = secret_key::read_or_create(&self.key_file)
            .map_err(|error| io::Error::new(error.kind(), format!("the key of names: {error}")))?;
        Ok(self.key.get_or_init(|| NameKey(read)))
    }

    pub(super) fn keep(&self, text: &str, owner: &ValueOwner) -> Result<Handle, KeepError> {
        let limits = self.limits();
        let bytes = text.len() as u64;
        if bytes > limits.quota {
            let quota = limits.quota;
            return Err(KeepError::OverQuota { quota });
        }
        let name = self.key()?.name_of(text.as_bytes());
        let mut index = self.index();
        let now = SystemTime::now();
        // A file from before the start may be damaged: write it again.
        if !(index.is_verified(&name) && self.folder.reset_age(&name, now)) {
            let others = index.remove(&name);
            self.remove(index.evict_until_fits(bytes, owner, limits.quota));
            self.folder.write(&name, text)?;
            for other in &others {
                index.insert(name.clone(), other, bytes, now, true);
            }
        }
        index.insert(name.clone(), owner, bytes, now, true);
        Ok(Handle {
            handle: name.to_string(),
            bytes,
            preview: text.chars().take(PREVIEW_CHARS).collect(),
            expires_ms: millis(limits.keep_for),
        })
    }

    pub(super) fn read(
        &self,
        name: &HandleName,
        offset: u64,
        length: Option<u64>,
    ) -> Result<ReadPage, Fault> {
        let total = self.find_verified(name)?;
        let wanted = value_page::PageRange::new(offset, length, total);
        let bytes = self.folder.read(name, total, wanted.range());
        bytes
            .and_then(|bytes| wanted.cut_page(&bytes))
            .map_err(|error| self.damaged_value_fault(name, &error))
    }

    pub(super) fn read_all(&self, name: &HandleName, most: usize) -> Result<String, Fault> {
        let total = self.find_verified(name)?;
        if total > most as u64 {
            let message = format!("the value of {name} is {total} bytes, over the limit of {most}");
            return Err(Fault::new(FaultKind::Limit, message).hint(format!(
                "read it in parts: mux.read(\"{name}\", {{ offset: 0, length: {} }}), then continue at \
                 `next` until it is null",
                value_page::DEFAULT_PAGE_BYTES
            )));
        }
        let bytes = self.folder.read(name, total, 0..total);
        bytes
            .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
            .map_err(|error| self.damaged_value_fault(name, &error))
    }

    /// The length of a value that exists and whose content matches its name.
    fn find_verified(&self, name: &HandleName) -> Result<u64, Fault> {
        let (bytes, verified) = {
            let mut index = self.index();
            self.remove(index.take_if_expired(name, self.limits().keep_for));
            index
                .touch(name)
                .ok_or_else(|| self.unknown_value_fault(name))?
        };
        if !verified {
            let text = self.folder.read(name, bytes, 0..bytes);
            let text = text.map_err(|error| self.damaged_value_fault(name, &error))?;
            let key = self.key().map_err(|error| unreadable_key_fault(&error))?;
            if !key.is_name_of(name, &text) {
                return Err(
                    self.damaged_value_fault(name, &io::Error::other("its content has changed"))
                );
            }
            self.index().set_verified(name);
        }
        Ok(bytes)
    }

    fn damaged_value_fault(&self, name: &HandleName, error: &io::Error) -> Fault {
        if error.kind() == io::ErrorKind::NotFound {
            // The value was just evicted, or the cache was cleared.
            self.index().remove(name);
            return self.unknown_value_fault(name);
        }
        warn!(%name, %error, "removing a damaged stored value");
        self.index().remove(name);
        self.folder.remove(name);
        Fault::new(
            FaultKind::NotFound,
            format!("the value of {name} was damaged on the disk: {error}"),
        )
        .hint("recreate it: repeat the program or the call")
    }

    fn unknown_value_fault(&self, name: &HandleName) -> Fault {
        let limits = self.limits();
        Fault::new(FaultKind::NotFound, format!("no value is kept as {name}")).hint(format!(
            "values are kept for {}, and at most {} bytes in total (`kept_for` and `kept` in [limits] \
             of config.toml); recreate it",
            humantime::format_duration(limits.keep_for),
            limits.quota
        ))
    }

    fn remove(&self, names: impl IntoIterator<Item = HandleName>) {
        for name in names {
            self.folder.remove(&name);
        }
    }

    fn index(&self) -> MutexGuard<'_, ValueIndex> {
        self.index.lock()
    }
}

fn unreadable_key_fault(error: &io::Error) -> Fault {
    let message = format!("the value cannot be verified: {error}");
    Fault::new(FaultKind::Unavailable, message).hint("muxd's state directory must be readable")
}
