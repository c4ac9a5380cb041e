//! Hides input at the terminal.
//!
//! Invariant: echo is restored, however the input ends.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::io::{self, BufRead as _};

pub(super) use self::system::{discard_input, hide_echo, restore_echo};
use crate::render;

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
