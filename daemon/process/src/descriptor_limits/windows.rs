//! Handles, of which a Windows process can have millions: no limit needs to be raised or restored.

use std::io;

use windows_sys::Win32::{
    Foundation::{ERROR_NO_SYSTEM_RESOURCES, ERROR_TOO_MANY_OPEN_FILES},
    System::Threading::{GetCurrentProcess, GetProcessHandleCount},
};

/// Does nothing: there is no limit.
pub fn raise() {}

/// `None`: there is no limit.
pub fn allowed() -> Option<u64> {
    None
}

/// The number of open handles of this process.
#[expect(
    unsafe_code,
    reason = "no safe wrapper of GetProcessHandleCount is at hand"
)]
pub fn in_use() -> io::Result<u64> {
    let mut count = 0;
    // SAFETY: the pseudo handle of this process is always valid, and the pointer is to a live local.
    match unsafe { GetProcessHandleCount(GetCurrentProcess(), &raw mut count) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(count.into()),
    }
}

/// Returns true if the error means that the system has no resources left for another handle.
pub fn are_used_up(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(i32::cast_unsigned);
    matches!(
        code,
        Some(ERROR_TOO_MANY_OPEN_FILES | ERROR_NO_SYSTEM_RESOURCES)
    )
}
