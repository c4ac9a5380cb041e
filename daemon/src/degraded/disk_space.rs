//! Checks that the daemon's directories exist, are writable and have free space.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    path::{Path, PathBuf},
};

use mux_messages::Degraded;

/// With less free space, a file may be written only in part.
const MIN_FREE_BYTES: u64 = 1 << 20;

/// The disk of a file or directory.
struct DiskState {
    /// Free bytes; `None` for a file system that does not count its blocks.
    free: Option<u64>,
    /// The file system accepts no more files, however short they are.
    is_out_of_files: bool,
    /// The file or directory cannot be written.
    is_protected: bool,
    /// Distinguishes disks.
    device: u64,
}

impl DiskState {
    fn is_full(&self) -> bool {
        self.is_out_of_files || self.free.is_some_and(|free| free < MIN_FREE_BYTES)
    }
}

/// The directories to which the daemon writes.
#[derive(Clone, Debug)]
pub struct DaemonDirs {
    pub state: PathBuf,
    pub cache: PathBuf,
    pub runtime: PathBuf,
}

impl DaemonDirs {
    pub(super) fn look(&self) -> Vec<Degraded> {
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
            let Some(disk) = system::read_disk(dir) else {
                found.push(Degraded::new(
                    "missing",
                    format!("{} no longer exists: {what} cannot be kept", dir.display()),
                    "`mux restart` creates it again",
                ));
                continue;
            };
            if disk.is_protected {
                found.push(Degraded::new(
                    "read_only",
                    format!("{} cannot be written: {what} cannot be kept", dir.display()),
                    format!(
                        "make {} writable, or set MUX_HOME to a directory that is",
                        dir.display()
                    ),
                ));
            } else if disk.is_full() {
                let known = full.entry(disk.device).or_insert((dir, Vec::new()));
                known.1.push(what);
            }
        }
        found.extend(full.into_values().map(|(dir, what)| {
            let what = what.join(", ");
            Degraded::new(
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

/// Returns true if a file could probably be written again. Does not write to it.
pub(super) fn can_write(file: &Path) -> bool {
    let opens = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .is_ok();
    opens
        && system::read_disk(file)
            .is_some_and(|disk| disk.free.is_none_or(|free| free >= MIN_FREE_BYTES))
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
        let modes: Vec<_> = conditions
            .iter()
            .map(|condition| condition.mode.as_str())
            .collect();
        assert_eq!(modes, ["missing"], "{conditions:?}");
        assert!(conditions[0].message.contains("types"), "{conditions:?}");
        std::fs::create_dir(at("cache")).unwrap();
        assert_eq!(disks.look(), []);
    }
}
