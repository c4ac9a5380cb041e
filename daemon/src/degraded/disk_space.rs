//! Whether the daemon's directories exist, are writable and have free space.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use nix::{
    sys::statvfs::{FsFlags, Statvfs, statvfs},
    unistd::{AccessFlags, access},
};

use super::HostCondition;

/// With less free space, a file may be written in part only.
const MIN_FREE_BYTES: u64 = 1 << 20;

/// The directories that the daemon writes to.
#[derive(Clone, Debug)]
pub struct DaemonDirs {
    pub state: PathBuf,
    pub cache: PathBuf,
    pub runtime: PathBuf,
}

impl DaemonDirs {
    pub(super) fn look(&self) -> Vec<HostCondition> {
        let kept = [
            (
                &self.state,
                "approvals, pins, logins, logs and the audit log",
            ),
            (&self.cache, "types and long results"),
            (&self.runtime, "the socket of the next muxd"),
        ];
        // Directories on one disk are reported together.
        let mut full: BTreeMap<u64, (&Path, Vec<&str>)> = BTreeMap::new();
        let mut found = Vec::new();
        for (dir, what) in kept {
            let Ok(disk) = statvfs(dir.as_path()) else {
                found.push(HostCondition::new(
                    "missing",
                    format!(
                        "{} does not exist any more: {what} cannot be kept",
                        dir.display()
                    ),
                    "`mux restart` creates it again",
                ));
                continue;
            };
            if is_protected(dir, &disk) {
                found.push(HostCondition::new(
                    "read_only",
                    format!("{} cannot be written: {what} cannot be kept", dir.display()),
                    format!(
                        "make {} writable, or set MUX_HOME to a directory that is",
                        dir.display()
                    ),
                ));
            } else if free(&disk).is_some_and(|free| free < MIN_FREE_BYTES)
                || disk.files() > 0 && disk.files_available() == 0
            {
                let device = dir.metadata().map_or(0, |found| found.dev());
                full.entry(device).or_insert((dir, Vec::new())).1.push(what);
            }
        }
        found.extend(full.into_values().map(|(dir, what)| {
            let what = what.join(", ");
            HostCondition::new(
                "disk_full",
                format!(
                    "the disk of {} is full: {what} cannot be kept",
                    dir.display()
                ),
                "make room on it; muxd recovers by itself",
            )
        }));
        found
    }
}

/// Free bytes; `None` for a file system that does not count its blocks.
fn free(disk: &Statvfs) -> Option<u64> {
    // The types of these fields differ between systems.
    let left = u128::from(disk.blocks_available()) * u128::from(disk.fragment_size());
    (disk.blocks() > 0).then(|| u64::try_from(left).unwrap_or(u64::MAX))
}

fn is_protected(dir: &Path, disk: &Statvfs) -> bool {
    disk.flags().contains(FsFlags::ST_RDONLY) || access(dir, AccessFlags::W_OK).is_err()
}

/// Whether a file could probably be written again, without writing to it.
pub(super) fn takes(file: &Path) -> bool {
    let opens = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .is_ok();
    opens && statvfs(file).is_ok_and(|disk| free(&disk).is_none_or(|free| free >= MIN_FREE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_directory_is_reported() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for name in ["state", "run"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let disks = DaemonDirs {
            state: at("state"),
            cache: at("cache"),
            runtime: at("run"),
        };
        let conditions = disks.look();
        let modes: Vec<_> = conditions.iter().map(|condition| condition.mode).collect();
        assert_eq!(modes, ["missing"], "{conditions:?}");
        assert!(conditions[0].message.contains("types"), "{conditions:?}");
        std::fs::create_dir(at("cache")).unwrap();
        assert_eq!(disks.look(), []);
    }
}
