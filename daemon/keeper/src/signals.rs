//! Signals and exits of children, as the keeper receives them.
//!
//! Invariant: no signal except SIGKILL and SIGSTOP ends or stops the keeper. Signals are blocked and read from a
//! descriptor, because a handler would have to be undone in every child.

use std::{
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::ExitStatusExt,
    },
    process::ExitStatus,
};

use nix::{
    errno::Errno,
    libc,
    sys::{
        signal::{SigHandler, SigSet, Signal, signal},
        signalfd::{SfdFlags, SignalFd},
    },
    unistd::Pid,
};

/// Signals that others may send: systemd to its whole control group, a terminal, a closed socket. The daemon decides
/// when to end, and its end is seen on the socket.
const BLOCKED_SIGNALS: [Signal; 6] = [
    Signal::SIGCHLD,
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGPIPE,
    Signal::SIGQUIT,
    Signal::SIGTERM,
];

pub(super) struct BlockedSignals(SignalFd);

/// The result of [`reap`].
pub(super) enum ReapOutcome {
    Ended(Pid, ExitStatus),
    /// There are children, and all of them are running.
    AllRun,
    /// The keeper has no child, and so no descendant: an orphan would have become our child.
    NoChild,
}

impl BlockedSignals {
    /// Blocks the signals. Must come first in the keeper process.
    pub(super) fn block() -> io::Result<Self> {
        let set: SigSet = BLOCKED_SIGNALS.into_iter().collect();
        set.thread_block()?;
        // Ignored signals are inherited and passed on to every child. An ignored SIGCHLD would also discard the exits
        // of our children.
        BLOCKED_SIGNALS.into_iter().try_for_each(default_action)?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(BlockedSignals(SignalFd::with_flags(&set, flags)?))
    }

    /// Discards pending signals. Signals only serve as a wake-up.
    pub(super) fn drain(&self) {
        while let Ok(Some(_)) = self.0.read_signal() {}
    }
}

impl AsFd for BlockedSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reaps one child that has ended, if there is one.
///
/// nix's `waitpid` loses the pid of a child that was killed by a real-time signal.
#[expect(unsafe_code, reason = "std waits only for one child that it started")]
pub(super) fn reap() -> ReapOutcome {
    let mut status = 0;
    // SAFETY: the pointer is to a live, writable int, which is all that waitpid requires.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    match pid {
        0 => ReapOutcome::AllRun,
        // The only error that these arguments can cause is ECHILD.
        ..0 => ReapOutcome::NoChild,
        pid => ReapOutcome::Ended(Pid::from_raw(pid), ExitStatus::from_raw(status)),
    }
}

#[expect(
    unsafe_code,
    reason = "nix cannot tell this call from one that installs a handler"
)]
fn default_action(number: Signal) -> Result<(), Errno> {
    // SAFETY: the default action runs no code of ours.
    unsafe { signal(number, SigHandler::SigDfl) }.map(drop)
}
