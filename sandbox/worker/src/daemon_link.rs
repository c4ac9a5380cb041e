//! The link to the daemon: standard input and output, which are pipes. The script's thread writes it.
//!
//! The script's thread also reads it, for [`DIRECT_WAIT`] whenever it is idle: an answer that arrives within that time
//! needs no thread switch. The link's thread reads later frames. It also reads while the script's thread is busy for
//! long, perhaps because the daemon reads no more calls until its answers are read.
//!
//! `unix` and `windows` read and write the pipes without the locks and the buffers of the standard library. On Windows,
//! where a pipe cannot be awaited for a limited time, the link's thread does all of the reading.
//!
//! Invariants: the end of the link ends the process, even while the script is in an endless loop. Frames are read
//! regardless of what the script does, and passed on in the order in which they were read.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{
    io::{self, BufReader},
    sync::Arc,
    thread,
    time::Duration,
};

use mux_wire::{FrameError, FromWorker, ToWorker, read_frame, write_frame};
use parking_lot::{Condvar, Mutex};
use tokio::sync::mpsc;

#[cfg(unix)]
use self::unix::{LinkReader, LinkWriter, check_link};
#[cfg(windows)]
use self::windows::{LinkReader, LinkWriter, check_link};
use crate::lockdown;

/// How long the script's thread waits for a frame itself. Timers that are due meanwhile are late by this much.
const DIRECT_WAIT: Duration = Duration::from_millis(1);
/// After how long the link's thread takes the reading over from a script's thread that is busy.
const TAKEOVER_INTERVAL: Duration = Duration::from_millis(20);

/// Frames from the daemon, in order.
pub(crate) type FrameReceiver = mpsc::UnboundedReceiver<ToWorker>;

/// The writing end. Not `Send`: only the script's thread writes, so frames cannot interleave.
#[derive(Clone)]
pub(crate) struct DaemonLink {
    _of_one_thread: std::marker::PhantomData<*const ()>,
}

impl DaemonLink {
    /// Opens the link. The script's thread must call [`FrameSource::read_before_sleep`] before it sleeps.
    pub(crate) fn open() -> io::Result<(Self, Arc<FrameSource>, FrameReceiver)> {
        check_link()?;
        let (sender, frames) = mpsc::unbounded_channel();
        let source = FrameSource::start(sender)?;
        let link = Self {
            _of_one_thread: std::marker::PhantomData,
        };
        Ok((link, source, frames))
    }

    /// Writes a frame. Blocks while the link is full, which is the back-pressure on a script that sends too much.
    #[expect(clippy::unused_self, reason = "only the owner of the link may write")]
    pub(crate) fn send(&self, frame: &FromWorker) -> Result<(), FrameError> {
        write_frame(&mut LinkWriter, frame)
    }
}

/// The reading end, which the script's thread and the link's thread share.
pub(crate) struct FrameSource {
    state: Mutex<ReaderState>,
    script_has_slept: Condvar,
    frames: mpsc::UnboundedSender<ToWorker>,
}

struct ReaderState {
    /// `None` while the link's thread reads.
    reader: Option<BufReader<LinkReader>>,
    /// Whether the script's thread sleeps and has left reading to the link's thread.
    script_sleeps: bool,
    /// Whether the script's thread was idle at any time since the link's thread last checked.
    script_was_idle: bool,
}

impl FrameSource {
    /// Starts the link's thread.
    fn start(frames: mpsc::UnboundedSender<ToWorker>) -> io::Result<Arc<Self>> {
        let source = Arc::new(Self {
            state: Mutex::new(ReaderState {
                reader: Some(BufReader::new(LinkReader)),
                script_sleeps: false,
                script_was_idle: false,
            }),
            script_has_slept: Condvar::new(),
            frames,
        });
        let of_thread = Arc::clone(&source);
        thread::Builder::new()
            .name("mux-link".into())
            .spawn(move || {
                loop {
                    of_thread.read_for_script();
                }
            })?;
        Ok(source)
    }

    /// Waits shortly for frames, or leaves that to the link's thread. Frames wake the script's thread again.
    pub(crate) fn read_before_sleep(&self) {
        let mut state = self.state.lock();
        state.script_was_idle = true;
        if let Some(reader) = &mut state.reader
            && reader.get_ref().wait_until_readable(DIRECT_WAIT)
        {
            self.pass_on(read_frames(reader));
            return;
        }
        state.script_sleeps = true;
        self.script_has_slept.notify_one();
    }

    /// Waits until the script's thread sleeps or is busy for long, and reads until it has slept.
    fn read_for_script(&self) {
        let mut state = self.state.lock();
        while LinkReader::CAN_WAIT && !state.script_sleeps {
            let waited = (self.script_has_slept).wait_for(&mut state, TAKEOVER_INTERVAL);
            if waited.timed_out() && !std::mem::take(&mut state.script_was_idle) {
                break;
            }
        }
        let Some(mut reader) = state.reader.take() else {
            return;
        };
        loop {
            drop(state);
            let frames = read_frames(&mut reader);
            state = self.state.lock();
            // Before the script's thread may read: a late answer must not arrive after the next program.
            self.pass_on(frames);
            if LinkReader::CAN_WAIT && state.script_sleeps {
                break;
            }
        }
        state.reader = Some(reader);
        state.script_sleeps = false;
    }

    fn pass_on(&self, frames: Vec<ToWorker>) {
        for frame in frames {
            // Errors are ignored: without a receiver the process is ending.
            drop(self.frames.send(frame));
        }
    }
}

/// Waits for the next frame, and reads all further frames that have arrived. Ends the process at the end of the link.
fn read_frames(reader: &mut BufReader<LinkReader>) -> Vec<ToWorker> {
    let mut frames = Vec::new();
    while frames.is_empty() || !reader.buffer().is_empty() {
        match read_frame(reader) {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => lockdown::exit_process(),
            Err(e) => {
                lockdown::log_line(&format!("mux-worker cannot read from muxd: {e}"));
                lockdown::exit_process();
            }
        }
    }
    frames
}
