//! The standard handles as files.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read, Write},
    mem::ManuallyDrop,
    os::windows::io::{AsRawHandle as _, FromRawHandle as _, RawHandle},
    time::Duration,
};

pub(super) struct LinkReader;

pub(super) struct LinkWriter;

impl LinkReader {
    /// Whether a thread can wait for frames for a limited time.
    pub(super) const CAN_WAIT: bool = false;

    pub(super) fn wait_until_readable(&self, _: Duration) -> bool {
        false
    }
}

impl Read for LinkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match file(io::stdin().as_raw_handle()).read(buffer) {
            // The daemon has exited.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            read => read,
        }
    }
}

impl Write for LinkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        file(io::stdout().as_raw_handle()).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A standard handle as a file, which does not close it.
#[expect(
    unsafe_code,
    reason = "the standard library buffers its standard streams"
)]
fn file(handle: RawHandle) -> ManuallyDrop<File> {
    // SAFETY: this process never closes its standard handles, and the file is never dropped.
    ManuallyDrop::new(unsafe { File::from_raw_handle(handle) })
}

/// Fails if standard input and output are not a link.
pub(super) fn check_link() -> io::Result<()> {
    let handles = [io::stdin().as_raw_handle(), io::stdout().as_raw_handle()];
    if handles.iter().any(|handle| handle.is_null()) || io::stdin().is_terminal() {
        return Err(io::Error::other("standard input and output are not pipes"));
    }
    Ok(())
}
