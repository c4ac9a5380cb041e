//! Reads a line from the terminal without echo.
//!
//! Invariant: echo is restored, however the read ends.

use std::io::{self, BufRead as _};

use parking_lot::Mutex;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::render;

/// The settings of the terminal before echo was switched off, until they are restored.
static SAVED_TERMIOS: Mutex<Option<Termios>> = Mutex::new(None);

pub(super) fn read_hidden_line(name: &str) -> io::Result<String> {
    let before = tcgetattr(io::stdin())?;
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO);
    quiet.local_modes.insert(LocalModes::ECHONL);
    *SAVED_TERMIOS.lock() = Some(before);
    render::ask_for_secret(name);
    tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    restore_echo();
    read?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

pub(super) fn restore_echo() {
    let before = SAVED_TERMIOS.lock().take();
    if let Some(before) = before {
        // This fails only if the terminal is gone.
        _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}
