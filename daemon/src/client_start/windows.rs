//! The client has started this process without a console. Its standard handles become files, and the streams are empty
//! from then on.
//!
//! Invariant: no process that this process starts inherits the files. An inherited handle is itself inheritable, and a
//! worker with such a handle keeps the startup lock until it ends, however early the daemon closes its own.

use std::{
    fs::File,
    io,
    os::windows::io::{AsRawHandle as _, FromRawHandle as _, RawHandle},
    path::{Path, PathBuf},
    ptr,
};

use windows_sys::Win32::{
    Foundation::{ERROR_PIPE_BUSY, HANDLE_FLAG_INHERIT, SetHandleInformation},
    System::Console::{STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle},
};

/// The startup lock's file and the channel for the report.
pub(crate) fn take_files() -> io::Result<(File, File)> {
    let lock = take_handle(io::stdin().as_raw_handle(), STD_INPUT_HANDLE)?;
    let channel = take_handle(io::stdout().as_raw_handle(), STD_OUTPUT_HANDLE)?;
    // A working directory cannot be removed or renamed.
    std::env::set_current_dir(root_of_drive()?)?;
    Ok((lock, channel))
}

/// Makes a standard handle a file. The stream then has no handle, which std treats as an empty stream.
#[expect(
    unsafe_code,
    reason = "the standard library only lends its standard handles"
)]
fn take_handle(handle: RawHandle, which: STD_HANDLE) -> io::Result<File> {
    if handle.is_null() {
        return Err(io::Error::other("a standard handle is missing"));
    }
    // SAFETY: this is the first code of the process to use its standard handles, and after the call no one else has
    // this handle, so the file is its owner.
    unsafe {
        if SetStdHandle(which, ptr::null_mut()) == 0
            || SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) == 0
        {
            return Err(io::Error::last_os_error());
        }
        Ok(File::from_raw_handle(handle))
    }
}

fn root_of_drive() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let root = program.ancestors().last().map(Path::to_owned);
    root.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// True if a daemon accepts connections at `socket`.
pub(crate) fn is_accepting(socket: &Path) -> bool {
    match File::options().read(true).write(true).open(socket) {
        Ok(_) => true,
        Err(error) => error.raw_os_error() == Some(ERROR_PIPE_BUSY.cast_signed()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::windows::io::IntoRawHandle as _;

    use windows_sys::Win32::Foundation::GetHandleInformation;

    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "no safe wrapper of these calls is at hand")]
    fn taken_handle_is_not_inheritable() {
        let handle = tempfile::tempfile().unwrap().into_raw_handle();
        let mut flags = 0;
        // SAFETY: the handle is open, and the pointer is to a live local.
        unsafe {
            let inheritable =
                SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
            assert_ne!(inheritable, 0);
            let file = take_handle(handle, STD_INPUT_HANDLE).unwrap();
            assert_ne!(
                GetHandleInformation(file.as_raw_handle(), &raw mut flags),
                0
            );
        }
        assert_eq!(flags & HANDLE_FLAG_INHERIT, 0);
    }
}
