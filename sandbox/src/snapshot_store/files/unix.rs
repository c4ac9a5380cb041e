//! Snapshots are private by file mode. A worker build is identified by the inode and the modification time of its
//! file.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    hash::Hash as _,
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

pub(super) fn hash_build(_worker: &Path, file: &Metadata, hasher: &mut impl std::hash::Hasher) {
    (file.dev(), file.ino(), file.len()).hash(hasher);
    (file.mtime(), file.mtime_nsec()).hash(hasher);
}

pub(super) fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

pub(super) fn create_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}
