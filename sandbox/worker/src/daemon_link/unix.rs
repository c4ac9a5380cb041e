//! Standard input, which is a socket. It is used directly, so that there is no second descriptor for it.

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
        Ok(unistd::write(io::stdin(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails if standard input is no link.
pub(super) fn check_link() -> io::Result<()> {
    let kind = SFlag::from_bits_truncate(fstat(io::stdin())?.st_mode) & SFlag::S_IFMT;
    if kind == SFlag::S_IFSOCK {
        Ok(())
    } else {
        Err(io::Error::other("standard input is not a socket"))
    }
}
