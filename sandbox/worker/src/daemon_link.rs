//! The link to the daemon: standard input and output, which are pipes. A thread reads it, the script's thread writes it.
//!
//! `unix` and `windows` read and write them without the locks and the buffers of the standard library.
//!
//! Invariant: the reading thread never waits for the script, so that the end of the link ends the process even while
//! the script is in an endless loop.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{
    io::{self, BufReader},
    thread,
};

use mux_wire::{FrameError, FromWorker, ToWorker, read_frame, write_frame};
use tokio::sync::mpsc;

#[cfg(unix)]
use self::unix::{LinkReader, LinkWriter, check_link};
#[cfg(windows)]
use self::windows::{LinkReader, LinkWriter, check_link};
use crate::lockdown;

/// Frames from the daemon, in order.
pub(crate) type FrameReceiver = mpsc::UnboundedReceiver<ToWorker>;

/// The writing end. Not `Send`: only the script's thread writes, so frames cannot interleave.
#[derive(Clone)]
pub(crate) struct DaemonLink {
    _of_one_thread: std::marker::PhantomData<*const ()>,
}

impl DaemonLink {
    /// Starts the thread that reads the link.
    pub(crate) fn open() -> io::Result<(Self, FrameReceiver)> {
        check_link()?;
        let (sender, frames) = mpsc::unbounded_channel();
        thread::Builder::new()
            .name("mux-link".into())
            .spawn(move || {
                let mut reader = BufReader::new(LinkReader);
                loop {
                    match read_frame(&mut reader) {
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

    /// Writes a frame. Blocks while the link is full, which is the back-pressure on a script that sends too much.
    pub(crate) fn send(&self, frame: &FromWorker) -> Result<(), FrameError> {
        write_frame(&mut LinkWriter, frame)
    }
}
