//! Modes, and folders that can be opened.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

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

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A folder, locked while a file in it is replaced.
pub(crate) struct FolderHandle(File);

impl FolderHandle {
    /// A predecessor or successor may also write here. Where folders cannot be locked, writers can only collide during
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
