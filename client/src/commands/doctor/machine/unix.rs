//! Disks and limits of a Unix system.

use std::{os::unix::fs::MetadataExt as _, path::Path};

use nix::sys::{
    resource::{Resource, getrlimit},
    statvfs::statvfs,
};

use super::super::CheckGroup;

pub(super) const HOME_VARIABLE: &str = "HOME";
/// A typical set of servers needs more file descriptors.
const MIN_OPEN_FILES: u64 = 256;

/// The disk of a directory and its free bytes, or `None` if the file system does not count its
/// blocks.
pub(super) fn disk_space(dir: &Path) -> Option<(u64, u64)> {
    let found = dir.metadata().ok()?;
    let disk = statvfs(dir).ok()?;
    // The width of block counts differs between systems.
    let left = u128::from(disk.blocks_available()) * u128::from(disk.fragment_size());
    let left = u64::try_from(left).unwrap_or(u64::MAX);
    (disk.blocks() > 0).then_some((found.dev(), left))
}

pub(super) fn disk_usage_hint(dir: &Path) -> String {
    format!(
        "free disk space; `du -sh {}` shows how much muxd uses",
        dir.display()
    )
}

/// Checks the resource limits that a daemon started from here would inherit.
pub(super) fn check_resource_limits(group: &mut CheckGroup) {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && hard < MIN_OPEN_FILES
    {
        group.warn(
            format!("a muxd started here can open only {hard} files"),
            format!("raise both limits of `ulimit -n` to {MIN_OPEN_FILES} or more; nofile in /etc/security/limits.conf"),
        );
    }
    #[cfg(target_os = "linux")]
    check_process_limit(group);
}

/// Linux also counts threads against this limit.
#[cfg(target_os = "linux")]
fn check_process_limit(group: &mut CheckGroup) {
    const MIN_PROCESSES: u64 = 128;
    if let Ok((soft, _)) = getrlimit(Resource::RLIMIT_NPROC)
        && soft < MIN_PROCESSES
    {
        group.warn(
            format!("you can have only {soft} processes and threads, including your desktop's"),
            format!(
                "raise `ulimit -u` to {MIN_PROCESSES} or more; nproc in /etc/security/limits.conf"
            ),
        );
    }
}
