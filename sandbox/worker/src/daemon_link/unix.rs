//! The standard descriptors, used directly, so that there are no others for them.

use std::io::{self, Read, Write};

use nix::{
    sys::stat::{SFlag, fstat},
    unistd,
};

pub(super) struct LinkReader;

pub(super) struct LinkWriter;

impl Read for LinkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(unistd::read(io::stdin(), buffer)?)
    }
}

impl Write for LinkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(unistd::write(io::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails if standard input and output are no link.
pub(super) fn check_link() -> io::Result<()> {
    for status in [fstat(io::stdin())?, fstat(io::stdout())?] {
        let kind = SFlag::from_bits_truncate(status.st_mode) & SFlag::S_IFMT;
        if kind != SFlag::S_IFIFO {
            return Err(io::Error::other("standard input and output are not pipes"));
        }
    }
    Ok(())
}
