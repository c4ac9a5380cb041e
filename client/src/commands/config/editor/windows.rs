//! An editor as a command of `cmd`.

use std::{ffi::OsString, io, path::Path};

use tokio::{
    process::Command,
    signal::windows::{CtrlC, ctrl_c},
};

/// The editors that are tried if the environment names none.
pub(super) const FALLBACK_EDITORS: [&str; 1] = ["notepad"];

/// While the result lives, Ctrl-C does not end this program.
pub(super) fn catch_interrupts() -> io::Result<CtrlC> {
    ctrl_c()
}

/// A path contains no quotes. `/S` takes away the outer ones alone.
pub(super) fn editor_command(editor: &Path, file: &Path) -> Command {
    let mut line = OsString::from("/D /S /C \"");
    line.push(editor);
    line.push(" \"");
    line.push(file);
    line.push("\"\"");
    let mut shell = Command::new("cmd.exe");
    shell.raw_arg(line);
    shell
}
