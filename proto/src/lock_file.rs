//! The file of a lock, opened as its holders do.
//!
//! Invariant: where nothing can be written, a file that is there can be locked all the same.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

/// Makes it if it is not there. It is never cut short: somebody's word may stand in it.
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
