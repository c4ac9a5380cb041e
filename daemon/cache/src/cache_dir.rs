//! The directories of the cache: the store in use, the quarantine, and their lock.
//!
//! Invariant: directories are created, moved and removed only under the lock. The name of a store that was given up is
//! never reused: a hanging thread may still write to it.
//!
//! `FOLDER/VERSION/{lock, opening, store-N}` and `FOLDER/quarantine`, which contains the last damaged store.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use mux_files::private_file::ensure_folder;
use thiserror::Error;
use tracing::{debug, warn};

use super::{
    limits::LOCK_TIMEOUT,
    store::{OpenStore, StoreError, StoreOpener, catch_panics},
};

const LOCK_FILE: &str = "lock";
/// A file that exists while a store is being opened. If it exists before, a process died while it opened the store.
const OPENING_FILE: &str = "opening";
const STORE_DIR_PREFIX: &str = "store-";
const QUARANTINE_DIR: &str = "quarantine";

#[derive(Debug, Error)]
pub(super) enum CacheDirError {
    #[error("{path} cannot be used: {source}", path = path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("another process uses {}", .0.display())]
    Taken(PathBuf),
    #[error("the store in {path} does not open: {source}", path = path.display())]
    Store { path: PathBuf, source: StoreError },
}

pub(super) struct CacheDir {
    folder: PathBuf,
    /// The directory of this version of the store.
    home: PathBuf,
    /// The number of the store in use.
    number: u64,
    opener: StoreOpener,
    _lock: File,
}

/// A store, and why the previous one was moved to the quarantine, if it was.
pub(super) type OpenedStore = (OpenStore, Option<String>);

impl CacheDir {
    /// Creates the directories and takes the lock.
    pub(super) fn take(
        folder: &Path,
        version: &str,
        opener: StoreOpener,
    ) -> Result<Self, CacheDirError> {
        let failed = |source| CacheDirError::Folder {
            path: folder.to_path_buf(),
            source,
        };
        ensure_folder(folder).map_err(failed)?;
        let home = folder.join(version);
        let lock = match ensure_folder(&home).and_then(|()| lock(&home)) {
            Err(error) if is_foreign(&error) => {
                warn!(%error, path = %home.display(), "moving aside what is not a cache");
                aside(&home, folder).map_err(failed)?;
                ensure_folder(&home).and_then(|()| lock(&home))
            }
            done => done,
        };
        let lock = lock.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => CacheDirError::Taken(home.clone()),
            _ => failed(error),
        })?;
        let number = numbers(&home).into_iter().max().unwrap_or(0);
        Ok(Self {
            folder: folder.to_path_buf(),
            home,
            number,
            opener,
            _lock: lock,
        })
    }

    /// Opens the existing store, or an empty one if there is none or it is damaged.
    pub(super) fn open(&mut self) -> Result<OpenedStore, CacheDirError> {
        let why = if self.home.join(OPENING_FILE).symlink_metadata().is_ok() {
            "the process that last opened it died while opening it".to_owned()
        } else {
            match self.attempt() {
                Ok(store) => {
                    self.tidy();
                    self.forget_other_versions();
                    return Ok((store, None));
                }
                Err(StoreError::Broken(why)) => why,
                Err(source) => return Err(self.unopened(source)),
            }
        };
        let store = self.begin_anew(&why)?;
        Ok((store, Some(why)))
    }

    /// Moves the store to the quarantine and opens an empty one.
    pub(super) fn begin_anew(&mut self, why: &str) -> Result<OpenStore, CacheDirError> {
        let path = self.store();
        warn!(why, path = %path.display(), "the cache is damaged: starting an empty one");
        if path.symlink_metadata().is_ok() {
            aside(&path, &self.folder).map_err(|source| CacheDirError::Folder { path, source })?;
        }
        self.number += 1;
        let opened = self.attempt().map_err(|source| self.unopened(source))?;
        self.tidy();
        Ok(opened)
    }

    /// Opens an empty store next to the one in use. [`Self::tidy`] then removes the older one.
    pub(super) fn beside(&mut self) -> Result<OpenStore, CacheDirError> {
        self.number += 1;
        let opened = self.attempt();
        opened.map_err(|source| {
            let error = self.unopened(source);
            self.number -= 1;
            error
        })
    }

    /// Removes all stores but the one in use.
    pub(super) fn tidy(&self) {
        let older = numbers(&self.home).into_iter();
        for number in older.filter(|number| *number != self.number) {
            remove(&self.home.join(format!("{STORE_DIR_PREFIX}{number}")));
        }
    }

    /// Removes the stores of other versions, unless a daemon of another build holds their lock.
    fn forget_other_versions(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path == self.home || entry.file_name() == QUARANTINE_DIR {
                continue;
            }
            let old = File::open(path.join(LOCK_FILE));
            if old.is_ok_and(|lock| lock.try_lock().is_ok()) {
                remove(&path);
            }
        }
    }

    fn attempt(&self) -> Result<OpenStore, StoreError> {
        let mark = self.home.join(OPENING_FILE);
        File::create(&mark)?;
        let began = Instant::now();
        let store = loop {
            let store = catch_panics(|| (self.opener)(&self.store()));
            // This process holds the outer lock, so the holder of the store's lock is about to release it.
            if !matches!(store, Err(StoreError::Locked)) || began.elapsed() > LOCK_TIMEOUT {
                break store;
            }
            thread::sleep(LOCK_TIMEOUT / 20);
        };
        fs::remove_file(&mark)?;
        store.map(OpenStore::new)
    }

    fn store(&self) -> PathBuf {
        self.home.join(format!("{STORE_DIR_PREFIX}{}", self.number))
    }

    fn unopened(&self, source: StoreError) -> CacheDirError {
        let path = self.store();
        CacheDirError::Store { path, source }
    }
}

/// Returns true if a file is where a directory should be, or a directory where the lock should be. Returns false for a
/// lack of space or permissions.
fn is_foreign(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, Other};
    matches!(error.kind(), IsADirectory | NotADirectory | Other)
}

/// Takes the lock. `WouldBlock` if another process keeps it.
fn lock(home: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    let file = options.open(home.join(LOCK_FILE))?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_TIMEOUT => {
                // Only a thread of this crate blocks here.
                thread::sleep(LOCK_TIMEOUT / 20);
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The numbers of the existing stores.
fn numbers(home: &Path) -> Vec<u64> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| name.strip_prefix(STORE_DIR_PREFIX)?.parse().ok())
        .collect()
}

/// Moves a store to the quarantine, where it is kept for diagnosis until the next one.
fn aside(path: &Path, folder: &Path) -> io::Result<()> {
    let quarantine = folder.join(QUARANTINE_DIR);
    remove(&quarantine);
    fs::rename(path, &quarantine)
}

fn remove(path: &Path) {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => return,
    };
    if let Err(error) = removed {
        debug!(%error, path = %path.display(), "cannot remove an old cache");
    }
}
