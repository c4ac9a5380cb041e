//! The milliseconds since the start of Windows, including time in suspend.

use std::time::Duration;

use windows_sys::Win32::System::SystemInformation::GetTickCount64;

#[expect(unsafe_code, reason = "no safe wrapper of GetTickCount64 is at hand")]
pub(super) fn time_since_boot() -> Duration {
    // SAFETY: the call has no arguments and always succeeds.
    Duration::from_millis(unsafe { GetTickCount64() })
}
