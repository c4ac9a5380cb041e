//! Child processes that signals and consoles of this process do not reach.

use tokio::process::Command;

/// Starts the child in a separate process group, which a signal to this process's group, as from a terminal, does not
/// reach.
#[cfg(unix)]
pub fn set_apart(command: &mut Command) {
    command.process_group(0);
}

/// Starts the child without a window and with a separate console, which Ctrl-C in this one does not reach.
#[cfg(windows)]
pub fn set_apart(command: &mut Command) {
    command.creation_flags(windows_sys::Win32::System::Threading::CREATE_NO_WINDOW);
}
