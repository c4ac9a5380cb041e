//! The socket to the daemon: a thread reads it, the script's thread writes it.
//!
//! Invariant: the reading thread never waits for the script, so that the end of the socket ends the
//! process even while the script spins.

use std::{cell::RefCell, fs::File, io, os::fd::AsFd, rc::Rc, thread};

use mux_wire::{FrameError, FromWorker, ToWorker, VERSION, read_frame, write_frame};
use tokio::sync::mpsc;

use crate::lockdown;

/// Frames from the daemon, in order.
pub(crate) type Frames = mpsc::UnboundedReceiver<ToWorker>;

/// The writing end, shared by the ops of one thread.
#[derive(Clone)]
pub(crate) struct Link {
    stream: Rc<RefCell<File>>,
}

impl Link {
    /// Takes standard input as the socket, says hello and starts the reading thread.
    pub(crate) fn open(engine: &str) -> io::Result<(Self, Frames)> {
        let fd = io::stdin().as_fd().try_clone_to_owned()?;
        let mut reader = File::from(fd.try_clone()?);
        let (sender, frames) = mpsc::unbounded_channel();
        let link = Self {
            stream: Rc::new(RefCell::new(File::from(fd))),
        };
        link.send(&FromWorker::Hello {
            version: VERSION,
            engine: engine.into(),
        })
        .map_err(io::Error::other)?;
        thread::Builder::new()
            .name("mux-link".into())
            .spawn(move || {
                loop {
                    match read_frame(&mut reader) {
                        Ok(Some(frame)) => {
                            if sender.send(frame).is_err() {
                                break;
                            }
                        }
                        Ok(None) => break,
                        Err(e) => {
                            lockdown::complain(&format!("mux-worker cannot read from muxd: {e}"));
                            break;
                        }
                    }
                }
                lockdown::leave();
            })?;
        Ok((link, frames))
    }

    /// Blocks until the daemon has taken the frame; that is the back-pressure on a chatty script.
    pub(crate) fn send(&self, frame: &FromWorker) -> Result<(), FrameError> {
        write_frame(&mut *self.stream.borrow_mut(), frame)
    }
}
