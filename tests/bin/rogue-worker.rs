//! `mux-rogue-worker`: replaces `mux-worker`, and breaks the rules that it is told to break.
//!
//! The name of its program file selects its behavior before it has a program (see [`rogue::greeting`]),
//! and the program selects its behavior afterwards (see [`rogue::tricks`]). Invariant: it keeps every
//! other rule, so a failing test points at the daemon. It ends when its parent does.

mod rogue;

use std::{io, process::ExitCode};

use mux_wire::EXIT_NO_SNAPSHOT;

fn main() -> io::Result<ExitCode> {
    let mut words = std::env::args();
    let name = words.next().unwrap_or_default();
    if words.any(|word| word == "--make-snapshot") {
        return Ok(ExitCode::from(EXIT_NO_SNAPSHOT));
    }
    rogue::serve(&name)
}
