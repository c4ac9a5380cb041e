//! Windows Error Reporting, which writes the memory of a crashed process to a file and may show a dialog.

use windows_sys::Win32::System::Diagnostics::Debug::{
    SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode,
};

/// Turns crash reports and their dialogs off, for this process and its children. Must be called before any secret
/// is read.
#[expect(unsafe_code, reason = "no safe wrapper of SetErrorMode is at hand")]
pub fn forbid_core_dumps() {
    // SAFETY: the call takes an integer and changes a setting of the process.
    let _before = unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX) };
}
