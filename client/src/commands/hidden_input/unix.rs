//! The modes of a Unix terminal.

use std::io;

use nix::sys::termios::{FlushArg, tcflush};
use parking_lot::Mutex;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The settings of the terminal before echo was switched off, until they are restored.
static SAVED_TERMIOS: Mutex<Option<Termios>> = Mutex::new(None);

/// Switches echo off, on Unix except for the end of the line. Input typed before that is discarded.
pub(in crate::commands) fn hide_echo() -> io::Result<()> {
    let before = tcgetattr(io::stdin())?;
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO);
    quiet.local_modes.insert(LocalModes::ECHONL);
    SAVED_TERMIOS.lock().get_or_insert(before);
    tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
    Ok(())
}

/// Undoes [`hide_echo`], if it was called, and discards input that was not read.
pub(in crate::commands) fn restore_echo() {
    let before = SAVED_TERMIOS.lock().take();
    if let Some(before) = before {
        // Flushed: half a secret must not appear at the shell's prompt. This fails only if the terminal no
        // longer exists.
        _ = tcsetattr(io::stdin(), OptionalActions::Flush, &before);
    }
}

/// Discards typed input that was not read yet, even an unfinished line.
pub(in crate::commands) fn discard_input() {
    _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
}
