//! The access list of the user's profile, which files and folders inherit.

use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    os::windows::fs::OpenOptionsExt as _,
    path::Path,
};

use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;

/// A symbolic link is opened itself, and is then no regular file.
pub fn open_unfollowed(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}

pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub fn writable_by_others(_meta: &Metadata) -> Option<&'static str> {
    None
}

pub(super) fn owner(_meta: &Metadata) -> Option<u32> {
    None
}

pub(super) fn writable_by_strangers(
    _meta: &Metadata,
    _trusted: Option<u32>,
) -> Option<&'static str> {
    None
}
