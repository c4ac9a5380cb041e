//! Device and inode.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use super::FileIdentity;

pub fn of_file(file: &File) -> io::Result<(FileIdentity, u64)> {
    let meta = file.metadata()?;
    Ok((identity(&meta), meta.len()))
}

pub fn of_path(path: &Path) -> io::Result<FileIdentity> {
    Ok(identity(&fs::metadata(path)?))
}

fn identity(meta: &Metadata) -> FileIdentity {
    (meta.dev(), meta.ino())
}
