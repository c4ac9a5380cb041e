//! Device and inode.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use super::FileIdentity;

pub(super) fn identity_of_file(file: &File) -> io::Result<FileIdentity> {
    Ok(identity(&file.metadata()?))
}

pub(super) fn identity_of_path(path: &Path) -> io::Result<FileIdentity> {
    Ok(identity(&fs::metadata(path)?))
}

fn identity(meta: &Metadata) -> FileIdentity {
    (meta.dev(), meta.ino())
}
