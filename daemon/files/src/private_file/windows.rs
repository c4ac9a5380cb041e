//! The access list of the user's profile, which files and folders inherit.

use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    path::Path,
};

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

/// Does nothing: the file system keeps a journal of names.
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// A folder in which a file is replaced. No lock is needed: without handovers, only one daemon writes.
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
