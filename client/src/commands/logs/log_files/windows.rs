//! The serial number of the volume and the index of the file, which only an open handle has.

use std::{
    fs::{File, OpenOptions},
    io,
    os::windows::{fs::OpenOptionsExt as _, io::AsRawHandle as _},
    path::Path,
};

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, FILE_READ_ATTRIBUTES,
    GetFileInformationByHandle,
};

use super::FileIdentity;

#[expect(
    unsafe_code,
    reason = "no safe wrapper of GetFileInformationByHandle is at hand"
)]
pub(super) fn identity_of_file(file: &File) -> io::Result<FileIdentity> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the pointer is to a live local of the type that the call fills.
    if unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut found) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let index = u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow);
    Ok((found.dwVolumeSerialNumber.into(), index))
}

/// Also opens folders, which needs `FILE_FLAG_BACKUP_SEMANTICS`.
pub(super) fn identity_of_path(path: &Path) -> io::Result<FileIdentity> {
    let mut options = OpenOptions::new();
    options
        .access_mode(FILE_READ_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    identity_of_file(&options.open(path)?)
}
