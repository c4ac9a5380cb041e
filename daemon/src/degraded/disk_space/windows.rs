//! The free space that the user may take. Only a write shows that a directory is writable: the attribute "read-only" of
//! a directory means something else.

use std::{
    os::windows::ffi::OsStrExt as _,
    path::{Component, Path, Prefix},
    ptr,
};

use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;

use super::DiskState;

/// `None` if there is nothing at the path.
pub(super) fn read_disk(path: &Path) -> Option<DiskState> {
    let found = path.metadata().ok()?;
    let dir = if found.is_dir() { path } else { path.parent()? };
    Some(DiskState {
        free: free(dir),
        is_out_of_files: false,
        is_protected: false,
        device: drive(path),
    })
}

#[expect(
    unsafe_code,
    reason = "there is no safe wrapper for GetDiskFreeSpaceExW"
)]
fn free(dir: &Path) -> Option<u64> {
    let dir: Vec<u16> = dir.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: the string ends with a zero, and the other pointers are to a live local or null where they may be.
    let done = unsafe {
        GetDiskFreeSpaceExW(
            dir.as_ptr(),
            &raw mut free,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    (done != 0).then_some(free)
}

/// The letter of a path's drive; 0 for a share.
fn drive(path: &Path) -> u64 {
    match path.components().next() {
        Some(Component::Prefix(prefix)) => match prefix.kind() {
            Prefix::Disk(letter) | Prefix::VerbatimDisk(letter) => {
                letter.to_ascii_uppercase().into()
            }
            _ => 0,
        },
        _ => 0,
    }
}
