//! macOS's sandbox, which every process may enter. The profile is checked on every system, but only macOS applies it.
//!
//! Invariant: the profile is a deny list. The engine's needs beyond memory and time are not known well enough for an
//! allow list.

use std::ffi::CStr;
#[cfg(target_os = "macos")]
use std::{
    ffi::{c_char, c_int},
    ptr,
};

/// No file, no network, no other process or program, no service of the system, no shared memory.
const PROFILE: &CStr = c"(version 1)
(allow default)
(deny file* network* process-exec* process-fork mach-lookup mach-register ipc-posix* ipc-sysv* system-socket)
(deny signal (target others))";

/// The flag for a profile that is given as a string, not by name.
#[cfg(target_os = "macos")]
const SOURCE: u64 = 0;

#[cfg(target_os = "macos")]
#[expect(
    unsafe_code,
    reason = "the system offers its sandbox as C functions only"
)]
unsafe extern "C" {
    fn sandbox_init(profile: *const c_char, flags: u64, error: *mut *mut c_char) -> c_int;
    fn sandbox_free_error(error: *mut c_char);
}

/// Applies the profile to the whole process, permanently.
#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "see above")]
pub(super) fn apply() -> bool {
    let mut error = ptr::null_mut();
    // SAFETY: the profile is a static C string, and `error` a live local in which the call may store an allocated
    // string.
    let status = unsafe { sandbox_init(PROFILE.as_ptr(), SOURCE, &raw mut error) };
    if !error.is_null() {
        // SAFETY: the string came from `sandbox_init` and is freed once.
        unsafe { sandbox_free_error(error) };
    }
    status == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operations that a program must not have. `*` stands for all operations with that prefix.
    const DENIED: &[&str] = &[
        "file*",
        "network*",
        "process-exec*",
        "process-fork",
        "mach-lookup",
        "mach-register",
        "ipc-posix*",
        "ipc-sysv*",
        "system-socket",
        "signal",
    ];

    #[test]
    fn profile_is_valid_and_denies_what_reaches_out_of_the_process() {
        let forms = lexpr::Parser::from_str(PROFILE.to_str().unwrap());
        let forms: Vec<Vec<lexpr::Value>> =
            forms.map(|form| form.unwrap().to_vec().unwrap()).collect();
        let head = |form: &[lexpr::Value]| form[0].as_symbol().unwrap().to_owned();
        assert_eq!(forms[0][1], lexpr::Value::from(1));
        let heads: Vec<String> = forms.iter().map(|form| head(form)).collect();
        assert_eq!(heads, ["version", "allow", "deny", "deny"]);
        let denied = forms[2..].iter().flat_map(|form| &form[1..]);
        let denied: Vec<&str> = denied.filter_map(lexpr::Value::as_symbol).collect();
        assert_eq!(denied, DENIED);
        // A process may signal itself, as an abort does.
        assert_eq!(forms[3][2].to_string(), "(target others)");
    }
}
