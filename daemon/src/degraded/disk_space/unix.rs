//! The disk state from `statvfs`.

use std::{os::unix::fs::MetadataExt as _, path::Path};

use nix::{
    sys::statvfs::{FsFlags, Statvfs, statvfs},
    unistd::{AccessFlags, access},
};

use super::DiskState;

/// `None` if there is nothing at the path.
pub(super) fn read_disk(path: &Path) -> Option<DiskState> {
    let disk = statvfs(path).ok()?;
    Some(DiskState {
        free: free(&disk),
        is_out_of_files: disk.files() > 0 && disk.files_available() == 0,
        is_protected: disk.flags().contains(FsFlags::ST_RDONLY)
            || access(path, AccessFlags::W_OK).is_err(),
        device: path.metadata().map_or(0, |found| found.dev()),
    })
}

fn free(disk: &Statvfs) -> Option<u64> {
    // The types of these fields differ between systems.
    let left = u128::from(disk.blocks_available()) * u128::from(disk.fragment_size());
    (disk.blocks() > 0).then(|| u64::try_from(left).unwrap_or(u64::MAX))
}
