//! The system's sandbox, which every process may enter.
//!
//! Invariant: the profile is a deny list. What the engine needs beyond memory and time is not known well enough for an
//! allow list.

use std::{
    ffi::{CStr, c_char, c_int},
    ptr,
};

/// No file, no network, no other process or program, no service of the system, no shared memory.
const PROFILE: &CStr = c"(version 1)
(allow default)
(deny file* network* process-exec* process-fork mach-lookup mach-register ipc-posix* ipc-sysv* system-socket)
(deny signal (target others))";

/// The flag for a profile that is given as text, not by name.
const SOURCE: u64 = 0;

#[expect(
    unsafe_code,
    reason = "the system offers its sandbox as C functions only"
)]
unsafe extern "C" {
    fn sandbox_init(profile: *const c_char, flags: u64, error: *mut *mut c_char) -> c_int;
    fn sandbox_free_error(error: *mut c_char);
}

/// Applies the profile to the whole process, permanently.
#[expect(unsafe_code, reason = "see above")]
pub(super) fn apply() -> bool {
    let mut error = ptr::null_mut();
    // SAFETY: the profile is a static C string, and `error` a live local in which the call may store a string of its
    // own.
    let status = unsafe { sandbox_init(PROFILE.as_ptr(), SOURCE, &raw mut error) };
    if !error.is_null() {
        // SAFETY: the string came from `sandbox_init` and is freed once.
        unsafe { sandbox_free_error(error) };
    }
    status == 0
}
