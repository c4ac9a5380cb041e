//! The times that Windows keeps of a thread, which advance by about 15 ms.

use std::{
    os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle},
    time::Duration,
};

use windows_sys::Win32::{
    Foundation::FILETIME,
    System::Threading::{
        GetCurrentThreadId, GetThreadTimes, OpenThread, THREAD_QUERY_LIMITED_INFORMATION,
    },
};

/// Nanoseconds of one unit of a `FILETIME`.
const FILETIME_NANOS: u64 = 100;

/// The id of a thread.
#[derive(Clone, Copy)]
pub(in crate::watchdog) struct ThreadClock(u32);

#[expect(unsafe_code, reason = "no safe wrapper of these calls is at hand")]
impl ThreadClock {
    pub(in crate::watchdog) fn of_this() -> Self {
        // SAFETY: the call has no arguments and always succeeds.
        Self(unsafe { GetCurrentThreadId() })
    }

    pub(in crate::watchdog) fn now(self) -> Option<Duration> {
        // SAFETY: the call takes integers, and a handle that is not null belongs to the caller.
        let thread = unsafe {
            let thread = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, self.0);
            (!thread.is_null()).then(|| OwnedHandle::from_raw_handle(thread))?
        };
        let mut times = [FILETIME::default(); 4];
        let [created, ended, kernel, user] = &mut times;
        // SAFETY: the handle is open, and the pointers are to live locals.
        let done = unsafe { GetThreadTimes(thread.as_raw_handle(), created, ended, kernel, user) };
        let units =
            |time: &FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
        (done != 0).then(|| Duration::from_nanos((units(kernel) + units(user)) * FILETIME_NANOS))
    }
}
