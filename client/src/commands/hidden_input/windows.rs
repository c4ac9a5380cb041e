//! The mode of a console's input.

#![expect(unsafe_code, reason = "no safe wrapper of these calls is at hand")]

use std::{
    io,
    os::windows::io::{AsRawHandle as _, RawHandle},
};

use parking_lot::Mutex;
use windows_sys::Win32::System::Console::{
    CONSOLE_MODE, ENABLE_ECHO_INPUT, FlushConsoleInputBuffer, GetConsoleMode, SetConsoleMode,
};

/// The mode of the console before echo was switched off, until it is restored.
static SAVED_MODE: Mutex<Option<CONSOLE_MODE>> = Mutex::new(None);

/// Switches echo off, on Unix except for the end of the line. Input typed before that is discarded.
pub(in crate::commands) fn hide_echo() -> io::Result<()> {
    let mut before = 0;
    // SAFETY: the handle is that of standard input, which stays open, and the pointer is to a live local.
    if unsafe { GetConsoleMode(console(), &raw mut before) } == 0 {
        return Err(io::Error::last_os_error());
    }
    SAVED_MODE.lock().get_or_insert(before);
    discard_input();
    // SAFETY: as above.
    match unsafe { SetConsoleMode(console(), before & !ENABLE_ECHO_INPUT) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Undoes [`hide_echo`], if it was called, and discards input that was not read.
pub(in crate::commands) fn restore_echo() {
    let before = SAVED_MODE.lock().take();
    if let Some(before) = before {
        discard_input();
        // SAFETY: as above. The call fails only if the console no longer exists.
        unsafe { SetConsoleMode(console(), before) };
    }
}

/// Discards typed input that was not read yet, even an unfinished line.
pub(in crate::commands) fn discard_input() {
    // SAFETY: as above. The call fails only if standard input is not a console.
    unsafe { FlushConsoleInputBuffer(console()) };
}

fn console() -> RawHandle {
    io::stdin().as_raw_handle()
}
