//! Snapshots are private by the access list of the user's profile. A worker build is identified by the path and the
//! times of its file.

use std::{
    fs::{self, File, Metadata},
    hash::Hash as _,
    io,
    os::windows::fs::MetadataExt as _,
    path::Path,
};

pub(super) fn hash_build(worker: &Path, file: &Metadata, hasher: &mut impl std::hash::Hasher) {
    (worker, file.len()).hash(hasher);
    (file.creation_time(), file.last_write_time()).hash(hasher);
}

pub(super) fn create_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

pub(super) fn create_private_file(path: &Path) -> io::Result<File> {
    File::create(path)
}
