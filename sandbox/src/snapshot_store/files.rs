//! The files of snapshots: their paths, writing, and cleanup.
//!
//! Invariant: a snapshot file is complete. Each file is written under a temporary name and renamed.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::{
    env::consts::ARCH,
    ffi::OsStr,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
    time::Duration,
};

/// The age at which snapshots of other builds are removed. Younger ones may be in use by another daemon.
const STALE_SNAPSHOT_AGE: Duration = Duration::from_hours(24);

/// The path of the snapshot for this worker file: a snapshot fits no other build and no other architecture.
pub(super) fn snapshot_path(folder: &Path, worker: &Path) -> io::Result<PathBuf> {
    let file = fs::metadata(worker)?;
    let mut hasher = DefaultHasher::new();
    system::hash_build(worker, &file, &mut hasher);
    ARCH.hash(&mut hasher);
    Ok(folder.join(format!("{:016x}.snapshot", hasher.finish())))
}

pub(super) fn write_snapshot(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        system::create_private_folder(folder)?;
    }
    let new = path.with_extension(format!("{}.new", process::id()));
    let write = || {
        let mut file = system::create_private_file(&new)?;
        // Not synced: a file that a power cut damaged is refused by its checksum.
        file.write_all(bytes)?;
        fs::rename(&new, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Removes old snapshots of other builds from the directory. Errors are ignored.
pub(super) fn remove_stale_snapshots(path: &Path) {
    let Some(entries) = path.parent().and_then(|folder| fs::read_dir(folder).ok()) else {
        return;
    };
    for entry in entries.flatten().filter(|entry| entry.path() != path) {
        let ours = matches!(
            entry.path().extension().and_then(OsStr::to_str),
            Some("snapshot" | "new")
        );
        let age = entry.metadata().and_then(|found| found.modified());
        let age = age.ok().and_then(|written| written.elapsed().ok());
        if ours && age.is_some_and(|age| age > STALE_SNAPSHOT_AGE) {
            drop(fs::remove_file(entry.path()));
        }
    }
}
