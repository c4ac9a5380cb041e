//! The times that Windows keeps of a thread, which advance by about 15 ms.

use std::time::Duration;

use windows_sys::Win32::{
    Foundation::FILETIME,
    System::Threading::{GetCurrentThread, GetThreadTimes},
};

/// Nanoseconds of one unit of a `FILETIME`.
const FILETIME_NANOS: u64 = 100;

#[expect(unsafe_code, reason = "no safe wrapper of GetThreadTimes is at hand")]
pub fn thread_cpu_time() -> Option<Duration> {
    let mut times = [FILETIME::default(); 4];
    let [created, ended, kernel, user] = &mut times;
    // SAFETY: the pseudo handle of this thread is always valid, and the pointers are to live locals.
    let done = unsafe { GetThreadTimes(GetCurrentThread(), created, ended, kernel, user) };
    let units =
        |time: &FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    (done != 0).then(|| Duration::from_nanos((units(kernel) + units(user)) * FILETIME_NANOS))
}
