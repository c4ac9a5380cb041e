//! Hides what is typed at the terminal.
//!
//! Invariant: echo is restored, however the input ends.

use std::io::{self, BufRead as _};

use parking_lot::Mutex;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::render;

/// The settings of the terminal before echo was switched off, until they are restored.
static SAVED_TERMIOS: Mutex<Option<Termios>> = Mutex::new(None);

/// Reads the value of a secret from the terminal.
pub(super) fn read_hidden_line(name: &str) -> io::Result<String> {
    hide_echo()?;
    render::ask_for_secret(name);
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    restore_echo();
    read?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// Switches echo off, except for the end of the line. Input typed before that is discarded.
pub(super) fn hide_echo() -> io::Result<()> {
    let before = tcgetattr(io::stdin())?;
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO);
    quiet.local_modes.insert(LocalModes::ECHONL);
    SAVED_TERMIOS.lock().get_or_insert(before);
    tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
    Ok(())
}

pub(super) fn restore_echo() {
    let before = SAVED_TERMIOS.lock().take();
    if let Some(before) = before {
        // Flushed: half a secret must not appear at the shell's prompt. This fails only if the terminal is gone.
        _ = tcsetattr(io::stdin(), OptionalActions::Flush, &before);
    }
}
