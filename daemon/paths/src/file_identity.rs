//! Identifies a file or folder independently of its path.
//!
//! - `unix`: device and inode.
//! - `windows`: serial number of the volume and index of the file.

use std::{fs::File, io, path::Path};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// The volume, and the file in it.
pub type FileIdentity = (u64, u64);

/// The identity of an open file, and its length in bytes.
pub fn of_file(file: &File) -> io::Result<(FileIdentity, u64)> {
    system::of_file(file)
}

/// The identity of the file or folder at a path, behind symbolic links.
pub fn of_path(path: &Path) -> io::Result<FileIdentity> {
    system::of_path(path)
}
