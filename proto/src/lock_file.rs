//! Opens lock files, as all their holders do.
//!
//! Invariant: on a read-only disk, an existing file can still be locked.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

/// Opens a lock file, and creates it if it does not exist. It is never truncated: it may contain its holder's pid.
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
