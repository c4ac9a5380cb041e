//! The socket to the daemon: a thread reads it, the script's thread writes it.
//!
//! Invariant: the reading thread never waits for the script, so that the end of the socket ends the process even while
//! the script is in an endless loop.

use std::{
    io::{self, Read, Write},
    thread,
};

use mux_wire::{FrameError, FromWorker, ToWorker, read_frame, write_frame};
use nix::{
    sys::stat::{SFlag, fstat},
    unistd,
};
use tokio::sync::mpsc;

use crate::lockdown;

/// Frames from the daemon, in order.
pub(crate) type FrameReceiver = mpsc::UnboundedReceiver<ToWorker>;

/// Standard input, which is a socket. It is used directly, so that there is no second descriptor for it.
struct StdinSocket;

impl Read for StdinSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(unistd::read(io::stdin(), buffer)?)
    }
}

impl Write for StdinSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(unistd::write(io::stdin(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The writing end. Not `Send`: only the script's thread writes, so frames cannot interleave.
#[derive(Clone)]
pub(crate) struct DaemonLink {
    _of_one_thread: std::marker::PhantomData<*const ()>,
}

impl DaemonLink {
    /// Starts the thread that reads the socket.
    pub(crate) fn open() -> io::Result<(Self, FrameReceiver)> {
        let kind = SFlag::from_bits_truncate(fstat(io::stdin())?.st_mode) & SFlag::S_IFMT;
        if kind != SFlag::S_IFSOCK {
            return Err(io::Error::other("standard input is not a socket"));
        }
        let (sender, frames) = mpsc::unbounded_channel();
        thread::Builder::new()
            .name("mux-link".into())
            .spawn(move || {
                loop {
                    match read_frame(&mut StdinSocket) {
                        Ok(Some(frame)) => {
                            if sender.send(frame).is_err() {
                                break;
                            }
                        }
                        Ok(None) => break,
                        Err(e) => {
                            lockdown::log_line(&format!("mux-worker cannot read from muxd: {e}"));
                            break;
                        }
                    }
                }
                lockdown::exit_process();
            })?;
        let link = Self {
            _of_one_thread: std::marker::PhantomData,
        };
        Ok((link, frames))
    }

    /// Writes a frame. Blocks while the socket is full, which is the back-pressure on a script that sends too much.
    pub(crate) fn send(&self, frame: &FromWorker) -> Result<(), FrameError> {
        write_frame(&mut StdinSocket, frame)
    }
}
