//! Opens regular files only, and tells whether another user could have written one.
//!
//! - `unix`: by owner and mode.
//! - `windows`: files inherit the access list of the user's profile; nothing is checked for a single file.

use std::{
    fs::{File, Metadata},
    io::{self, Read as _},
    path::Path,
};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Opens a file for reading, but neither a symbolic link nor, on Unix, a pipe that has no writer.
pub fn open_unfollowed(path: &Path) -> io::Result<File> {
    system::open_unfollowed(path)
}

/// Reads a regular file of at most `max_bytes`, through links. It does not wait for a pipe or a device, and its length
/// is checked while it is read: a file of the kernel says that it is empty.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    let file = system::open_without_waiting(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    let length = file.take(max_bytes + 1).read_to_string(&mut text)?;
    if found.len().max(length as u64) > max_bytes {
        return Err(io::Error::other(format!(
            "it is longer than {max_bytes} bytes"
        )));
    }
    Ok(text)
}

/// Why a file of the user may have been written by another user, if it may: it belongs to another user, or the mode
/// allows it to the group or to everyone.
pub fn writable_by_others(meta: &Metadata) -> Option<&'static str> {
    system::writable_by_others(meta)
}

/// Why a file that the user or an administrator placed may have been written by anyone, if it may. Write access of a
/// group counts as the owner's decision, as for repositories that a team shares.
pub fn writable_by_strangers(meta: &Metadata) -> Option<&'static str> {
    system::writable_by_strangers(meta)
}
