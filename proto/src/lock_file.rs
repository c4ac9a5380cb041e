//! Opens lock files, as all their holders do, and names the file that says who holds a lock.
//!
//! Invariant: on a read-only disk, an existing file can still be locked.

use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// Opens a lock file, and creates it if it does not exist. The file is never truncated, because it may contain its
/// holder's pid.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path).or_else(|error| {
        let is_protected = error.kind() == io::ErrorKind::ReadOnlyFilesystem;
        let there = is_protected.then(|| File::open(path).ok()).flatten();
        there.ok_or(error)
    })
}

/// The file in which the holder of a lock describes itself, if it is not the lock itself: on Windows, a locked file
/// cannot be read.
pub fn separate_record(lock: &Path) -> Option<PathBuf> {
    cfg!(windows).then(|| lock.with_extension("owner"))
}
