//! The daemon leaves the client's session and terminal by itself.

use std::{
    io,
    process::{Child, Command},
};

pub(super) fn spawn_daemon(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}
