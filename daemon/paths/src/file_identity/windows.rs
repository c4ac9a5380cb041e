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
pub fn of_file(file: &File) -> io::Result<(FileIdentity, u64)> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the pointer is to a live local of the type that the call fills.
    if unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut found) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let joined = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let index = joined(found.nFileIndexHigh, found.nFileIndexLow);
    let length = joined(found.nFileSizeHigh, found.nFileSizeLow);
    Ok(((found.dwVolumeSerialNumber.into(), index), length))
}

/// Also opens folders, which needs `FILE_FLAG_BACKUP_SEMANTICS`.
pub fn of_path(path: &Path) -> io::Result<FileIdentity> {
    let mut options = OpenOptions::new();
    options
        .access_mode(FILE_READ_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    of_file(&options.open(path)?).map(|(identity, _)| identity)
}
