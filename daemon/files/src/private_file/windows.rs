//! The access list of the user's profile, which files and folders inherit.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io,
    os::windows::fs::OpenOptionsExt as _,
    path::Path,
};

use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;

use super::PrivateMode;

impl PrivateMode for OpenOptions {
    fn private(&mut self) -> &mut Self {
        self
    }
}

impl PrivateMode for DirBuilder {
    fn private(&mut self) -> &mut Self {
        self
    }
}

/// A symbolic link is opened itself, and is then no regular file.
pub(super) fn open_unfollowed(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}

pub(super) fn writable_by_others(_meta: &Metadata) -> Option<&'static str> {
    None
}

/// Does nothing: the file system keeps a journal of names.
pub(super) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// A folder in which a file is replaced. It needs no lock: there is no handover, so that one daemon alone writes.
pub(crate) struct FolderHandle;

impl FolderHandle {
    pub(crate) fn lock(_folder: &Path) -> io::Result<Self> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "as on Unix")]
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
