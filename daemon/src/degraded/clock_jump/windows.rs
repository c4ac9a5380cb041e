//! The milliseconds since the start of Windows, including time in suspend.

use std::time::Duration;

use windows_sys::Win32::System::SystemInformation::GetTickCount64;

#[expect(unsafe_code, reason = "there is no safe wrapper for GetTickCount64")]
pub(super) fn time_since_boot() -> Duration {
    // SAFETY: the call has no arguments and always succeeds.
    Duration::from_millis(unsafe { GetTickCount64() })
}
