//! The standard descriptors, used directly: they are not duplicated.

use std::{
    io::{self, Read, Write},
    os::fd::AsFd as _,
    time::Duration,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::stat::{SFlag, fstat},
    unistd,
};

pub(super) struct LinkReader;

pub(super) struct LinkWriter;

impl LinkReader {
    /// Whether a thread can wait for frames for a limited time.
    pub(super) const CAN_WAIT: bool = true;

    /// Waits until there is something to read, or the end. Returns whether that happened in time.
    #[expect(
        clippy::unused_self,
        reason = "only the owner of the reading end may wait"
    )]
    pub(super) fn wait_until_readable(&self, within: Duration) -> bool {
        let within = PollTimeout::try_from(within).unwrap_or(PollTimeout::ZERO);
        let input = io::stdin();
        let mut polled = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        // A signal that interrupts it counts as the end of the time.
        poll(&mut polled, within).is_ok_and(|ready| ready > 0)
    }
}

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

/// Fails if standard input and output are not a link.
pub(super) fn check_link() -> io::Result<()> {
    for status in [fstat(io::stdin())?, fstat(io::stdout())?] {
        let kind = SFlag::from_bits_truncate(status.st_mode) & SFlag::S_IFMT;
        if kind != SFlag::S_IFIFO {
            return Err(io::Error::other("standard input and output are not pipes"));
        }
    }
    Ok(())
}
