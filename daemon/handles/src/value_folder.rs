//! The folder of stored values: one JSON file for each value.
//!
//! Invariant: only regular files with the names of values are read, and no link is followed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use mux_files::private_file::ensure_folder;
use tracing::debug;

use super::handle_name::HandleName;
use mux_files::private_file::PrivateMode as _;

/// The prefix of the name of a file that is being written.
const UNFINISHED_PREFIX: &str = "unfinished";
/// The age at which an unfinished file counts as left by a daemon that died.
const ABANDONED_WRITE_AGE: Duration = Duration::from_mins(1);

pub(super) struct ValueFolder {
    path: PathBuf,
    next: AtomicU64,
}

impl ValueFolder {
    pub(super) fn new(path: PathBuf) -> Self {
        let next = AtomicU64::new(1);
        Self { path, next }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The existing values, the oldest first. All other files are removed.
    pub(super) fn scan(&self) -> io::Result<Vec<(HandleName, u64, SystemTime)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            // Skip an entry that was just removed.
            let Ok(entry) = entry else { continue };
            // The metadata of the entry itself, not of a link's target.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let name = entry.file_name();
            let young = || {
                let age = metadata.modified().ok().and_then(|at| at.elapsed().ok());
                age.is_none_or(|age| age < ABANDONED_WRITE_AGE)
            };
            if name.to_string_lossy().starts_with(UNFINISHED_PREFIX) && young() {
                // The predecessor may be writing it.
                continue;
            }
            match name.to_str().map(HandleName::parse) {
                Some(Ok(name)) if metadata.is_file() => {
                    let stored = metadata.modified().unwrap_or_else(|_| SystemTime::now());
                    found.push((name, metadata.len(), stored));
                }
                _ => {
                    debug!(?name, "removing a file that is not a stored value");
                    // This fails for a directory, which stays.
                    drop(fs::remove_file(entry.path()));
                }
            }
        }
        found.sort_by_key(|(_, _, stored)| *stored);
        Ok(found)
    }

    /// Writes a value atomically. The folder is checked each time: it may have been removed or replaced.
    pub(super) fn write(&self, name: &HandleName, text: &str) -> io::Result<()> {
        ensure_folder(&self.path)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.path.join(format!(
            "{UNFINISHED_PREFIX}-{}-{number}",
            std::process::id()
        ));
        // A file that an earlier process left.
        drop(fs::remove_file(&unfinished));
        let written = create_private_file(&unfinished)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&unfinished, self.path.join(name.as_str())));
        if written.is_err() {
            drop(fs::remove_file(&unfinished));
        }
        written
    }

    /// Resets the age of a value. Returns false if it does not exist.
    pub(super) fn reset_age(&self, name: &HandleName, now: SystemTime) -> bool {
        let mut options = OpenOptions::new();
        let file = open_plain_file(options.write(true), &self.path.join(name.as_str()));
        file.and_then(|file| file.set_modified(now)).is_ok()
    }

    /// Reads a range of a value that is `total` bytes long.
    pub(super) fn read(
        &self,
        name: &HandleName,
        total: u64,
        range: Range<u64>,
    ) -> io::Result<Vec<u8>> {
        let mut options = OpenOptions::new();
        let mut file = open_plain_file(options.read(true), &self.path.join(name.as_str()))?;
        if file.metadata()?.len() != total {
            return Err(io::Error::other("its length has changed"));
        }
        let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(range.start))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn remove(&self, name: &HandleName) {
        // If this fails, the next start loads it and tries again.
        drop(fs::remove_file(self.path.join(name.as_str())));
    }
}

fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).private();
    open_plain_file(&mut options, path)
}

/// Opens a regular file. Does not follow a link and does not block on a pipe.
fn open_plain_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use nix::fcntl::OFlag;
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file; remove it"))
    }
}
