//! The directories of the cache: which one is used, which one was set aside, who may touch them.
//!
//! Invariant: nothing is made, moved or removed but under the lock, and a store that was given up is
//! never opened under its name again: a thread that is lost in it may still write there.
//!
//! `FOLDER/VERSION/{lock, opening, store-N}` and `FOLDER/quarantine`, the last one that was damaged.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use thiserror::Error;
use tracing::{debug, warn};

use super::{
    limits::LOCK_TIMEOUT,
    store::{OpenStore, StoreError, StoreOpener, catch_panics},
};

const LOCK_FILE: &str = "lock";
/// Is there while a store is being opened. A process that finds it knows of one that died of that.
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
    /// Of this version of the store.
    home: PathBuf,
    /// Of the store that is used.
    number: u64,
    opener: StoreOpener,
    _lock: File,
}

/// A store, and why the one before it was set aside.
pub(super) type OpenedStore = (OpenStore, Option<String>);

impl CacheDir {
    /// Makes the directories and takes the lock.
    pub(super) fn take(
        folder: &Path,
        version: &str,
        opener: StoreOpener,
    ) -> Result<Self, CacheDirError> {
        let failed = |source| CacheDirError::Folder {
            path: folder.to_path_buf(),
            source,
        };
        prepare(folder).map_err(failed)?;
        let home = folder.join(version);
        let lock = match prepare(&home).and_then(|()| lock(&home)) {
            Err(error) if is_foreign(&error) => {
                warn!(%error, path = %home.display(), "setting aside what is no cache");
                aside(&home, folder).map_err(failed)?;
                prepare(&home).and_then(|()| lock(&home))
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

    /// Opens the store that is there, or an empty one.
    pub(super) fn open(&mut self) -> Result<OpenedStore, CacheDirError> {
        let why = if self.home.join(OPENING_FILE).symlink_metadata().is_ok() {
            "the process that opened it last did not come back".to_owned()
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

    /// Sets the store aside and opens an empty one.
    pub(super) fn begin_anew(&mut self, why: &str) -> Result<OpenStore, CacheDirError> {
        let path = self.store();
        warn!(why, path = %path.display(), "the cache is damaged and begins anew");
        if path.symlink_metadata().is_ok() {
            aside(&path, &self.folder).map_err(|source| CacheDirError::Folder { path, source })?;
        }
        self.number += 1;
        let opened = self.attempt().map_err(|source| self.unopened(source))?;
        self.tidy();
        Ok(opened)
    }

    /// An empty store beside the one that is used; `tidy` then removes the older one.
    pub(super) fn beside(&mut self) -> Result<OpenStore, CacheDirError> {
        self.number += 1;
        let opened = self.attempt();
        opened.map_err(|source| {
            let error = self.unopened(source);
            self.number -= 1;
            error
        })
    }

    /// Removes everything that is not used any more.
    pub(super) fn tidy(&self) {
        let older = numbers(&self.home).into_iter();
        for number in older.filter(|number| *number != self.number) {
            remove(&self.home.join(format!("{STORE_DIR_PREFIX}{number}")));
        }
    }

    /// Nobody opens them any more but a daemon of another build, which would hold the lock.
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
            // We have the lock of it all: who has this one is about to let go.
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

/// Makes the directory, for its owner alone, and refuses what somebody else has put there.
fn prepare(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_err() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)?;
    }
    let found = path.symlink_metadata()?;
    if !found.is_dir() {
        return Err(io::Error::other("it is no directory; remove it"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::uid(&found) != nix::unistd::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to somebody else; remove it"));
    }
    Ok(())
}

/// A file in place of a directory, or a directory in place of the lock; no lack of room or of rights.
fn is_foreign(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, Other};
    matches!(error.kind(), IsADirectory | NotADirectory | Other)
}

/// `WouldBlock` if somebody else has it and keeps it.
fn lock(home: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    let file = options.open(home.join(LOCK_FILE))?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_TIMEOUT => {
                // A thread of ours alone waits here.
                thread::sleep(LOCK_TIMEOUT / 20);
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The numbers of the stores that are there.
fn numbers(home: &Path) -> Vec<u64> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| name.strip_prefix(STORE_DIR_PREFIX)?.parse().ok())
        .collect()
}

/// One that was set aside is kept for whoever looks for the cause.
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
