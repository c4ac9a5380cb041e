//! Descriptors that this process has inherited, and that programs which it starts must not inherit. Linux only.

use std::{fs, io};

use nix::{errno::Errno, libc};

/// Makes an exec close all descriptors except the standard ones. Reads `/proc`, because `close_range` is newer than some
/// kernels on which muxd runs.
#[expect(
    unsafe_code,
    reason = "descriptors without an owner here are plain numbers"
)]
pub fn close_on_exec() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.parse::<i32>().ok());
        if let Some(number) = number.filter(|number| *number > 2) {
            // SAFETY: the call takes integers, and closes nothing now.
            let done = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
            Errno::result(done)?;
        }
    }
    Ok(())
}
