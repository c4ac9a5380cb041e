//! An editor as a command of `sh`.

use std::{io, path::Path};

use tokio::{
    process::Command,
    signal::unix::{Signal, SignalKind, signal},
};

/// The editors that are tried if the environment names none.
pub(super) const FALLBACK_EDITORS: [&str; 2] = ["vi", "nano"];

/// While the result lives, Ctrl-C does not end this program.
pub(super) fn catch_interrupts() -> io::Result<Signal> {
    signal(SignalKind::interrupt())
}

pub(super) fn editor_command(editor: &Path, file: &Path) -> Command {
    let mut script = editor.as_os_str().to_owned();
    script.push(" \"$@\"");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).arg(editor).arg(file);
    shell
}
