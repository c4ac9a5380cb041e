//! Modes, owners, and folders that can be opened.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use nix::{fcntl::OFlag, unistd::geteuid};

use super::PrivateMode;

impl PrivateMode for OpenOptions {
    fn private(&mut self) -> &mut Self {
        self.mode(0o600)
    }
}

impl PrivateMode for DirBuilder {
    fn private(&mut self) -> &mut Self {
        self.mode(0o700)
    }
}

pub(super) fn open_unfollowed(path: &Path) -> io::Result<File> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

pub(super) fn writable_by_others(meta: &Metadata) -> Option<&'static str> {
    if meta.uid() != geteuid().as_raw() {
        Some("it belongs to another user")
    } else if meta.mode() & 0o022 != 0 {
        Some("others may write to it: chmod 600")
    } else {
        None
    }
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A folder, locked while a file in it is replaced.
pub(crate) struct FolderHandle(File);

impl FolderHandle {
    /// A predecessor or successor may write here, too. Where folders cannot be locked, writers can only collide during
    /// a handover.
    pub(crate) fn lock(folder: &Path) -> io::Result<Self> {
        let folder = File::open(folder)?;
        drop(folder.lock());
        Ok(Self(folder))
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}
