//! The times that Windows keeps of a process.

use std::{
    os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle},
    time::Duration,
};

use windows_sys::Win32::{
    Foundation::{FILETIME, STILL_ACTIVE},
    System::Threading::{
        GetExitCodeProcess, GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
    },
};

/// Nanoseconds of one unit of a `FILETIME`.
const FILETIME_NANOS: u64 = 100;

/// The CPU time that a process of this user has used so far. `None` if it has ended: its id lives as long as a
/// handle to it.
#[expect(unsafe_code, reason = "no safe wrapper of GetProcessTimes is at hand")]
pub(super) fn processor_time_used(pid: u32) -> Option<Duration> {
    // SAFETY: the call takes integers, and a handle that is not null belongs to the caller.
    let process = unsafe {
        let process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid);
        (!process.is_null()).then(|| OwnedHandle::from_raw_handle(process))?
    };
    let mut times = [FILETIME::default(); 4];
    let [created, ended, kernel, user] = &mut times;
    let mut code = 0;
    // SAFETY: the handle is open, and the pointers are to live locals.
    let done = unsafe {
        GetExitCodeProcess(process.as_raw_handle(), &raw mut code) != 0
            && GetProcessTimes(process.as_raw_handle(), created, ended, kernel, user) != 0
    };
    let units =
        |time: &FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    (done && code == STILL_ACTIVE.cast_unsigned())
        .then(|| Duration::from_nanos((units(kernel) + units(user)) * FILETIME_NANOS))
}
