//! Separates a process of the sandbox from the daemon's terminal and directory.

use tokio::process::Command;

/// Starts the process in a separate process group, in the root directory.
#[cfg(unix)]
pub(crate) fn isolate_process(command: &mut Command) {
    command.current_dir("/").process_group(0);
}

/// Starts the process without a window. It keeps the daemon's working directory, which is the root of a
/// drive.
#[cfg(windows)]
pub(crate) fn isolate_process(command: &mut Command) {
    /// The value of `CREATE_NO_WINDOW`.
    const CREATE_NO_WINDOW: u32 = 0x0800_0000;
    command.creation_flags(CREATE_NO_WINDOW);
}
