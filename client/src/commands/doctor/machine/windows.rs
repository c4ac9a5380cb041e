//! Disks of Windows, which has no limits that muxd could reach.

use std::{
    os::windows::ffi::OsStrExt as _,
    path::{Component, Path, Prefix},
    ptr,
};

use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;

use super::super::CheckGroup;

pub(super) const HOME_VARIABLE: &str = "USERPROFILE";

/// The letter of a directory's drive, 0 for a share, and the free bytes that the user may take.
#[expect(
    unsafe_code,
    reason = "no safe wrapper of GetDiskFreeSpaceExW is at hand"
)]
pub(super) fn disk_space(dir: &Path) -> Option<(u64, u64)> {
    let drive = match dir.components().next()? {
        Component::Prefix(prefix) => match prefix.kind() {
            Prefix::Disk(letter) | Prefix::VerbatimDisk(letter) => letter.to_ascii_uppercase(),
            _ => 0,
        },
        _ => 0,
    };
    let wide: Vec<u16> = dir.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: the string is NUL-terminated, and the other pointers are to a live local or null where they may
    // be.
    let done = unsafe {
        GetDiskFreeSpaceExW(
            wide.as_ptr(),
            &raw mut free,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    (done != 0).then(|| (drive.into(), free))
}

pub(super) fn disk_usage_hint(dir: &Path) -> String {
    format!("free disk space; muxd keeps its files in {}", dir.display())
}

pub(super) fn check_resource_limits(_group: &mut CheckGroup) {}
