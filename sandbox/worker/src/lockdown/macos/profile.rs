//! The sandbox of the system, which every process may put itself into.
//!
//! Invariant: the profile only forbids. What the engine needs of the system beside memory and time is not
//! known well enough here to be listed, so that what is forbidden is.

use std::{
    ffi::{CStr, c_char, c_int},
    ptr,
};

/// No file, no network, no other process or program, no service of the system, no shared memory.
const PROFILE: &CStr = c"(version 1)
(allow default)
(deny file* network* process-exec* process-fork mach-lookup mach-register ipc-posix* ipc-sysv* system-socket)
(deny signal (target others))";

/// The text is a profile and not the name of one.
const SOURCE: u64 = 0;

#[expect(
    unsafe_code,
    reason = "the system offers its sandbox as C functions only"
)]
unsafe extern "C" {
    fn sandbox_init(profile: *const c_char, flags: u64, error: *mut *mut c_char) -> c_int;
    fn sandbox_free_error(error: *mut c_char);
}

/// Binds the whole process, for good.
#[expect(unsafe_code, reason = "see above")]
pub(super) fn apply() -> bool {
    let mut error = ptr::null_mut();
    // SAFETY: the profile is a C string that lives for ever, and `error` a live local into which the call
    // may put a string of its own.
    let status = unsafe { sandbox_init(PROFILE.as_ptr(), SOURCE, &raw mut error) };
    if !error.is_null() {
        // SAFETY: the string came from `sandbox_init` and is given back once.
        unsafe { sandbox_free_error(error) };
    }
    status == 0
}
