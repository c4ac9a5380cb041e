//! The daemon leaves the client's session and terminal by itself.

use std::{
    fs::File,
    io,
    path::Path,
    process::{Child, Command},
};

/// Does nothing: the daemon inherits the lock with its file.
#[expect(clippy::unnecessary_wraps, reason = "on Windows it can fail")]
pub(super) fn hand_over(lock: File, _path: &Path) -> io::Result<File> {
    Ok(lock)
}

pub(super) fn spawn_daemon(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}
