//! Owners and modes.

use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use nix::{fcntl::OFlag, unistd::geteuid};

const ANOTHER_USER: &str = "it belongs to another user";

pub fn open_unfollowed(path: &Path) -> io::Result<File> {
    open(path, OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK)
}

pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    open(path, OFlag::O_NONBLOCK | OFlag::O_NOCTTY)
}

fn open(path: &Path, flags: OFlag) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)
}

pub fn writable_by_others(meta: &Metadata) -> Option<&'static str> {
    if meta.uid() != geteuid().as_raw() {
        Some(ANOTHER_USER)
    } else if meta.mode() & 0o022 != 0 {
        Some("others may write to it: chmod 600")
    } else {
        None
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "files have no such owner on Windows"
)]
pub(super) fn owner(meta: &Metadata) -> Option<u32> {
    Some(meta.uid())
}

pub(super) fn writable_by_strangers(meta: &Metadata, trusted: Option<u32>) -> Option<&'static str> {
    let owner = meta.uid();
    if owner != geteuid().as_raw() && owner != 0 && Some(owner) != trusted {
        Some(ANOTHER_USER)
    } else if meta.mode() & 0o002 != 0 {
        Some("every user may write to it: chmod o-w")
    } else {
        None
    }
}
