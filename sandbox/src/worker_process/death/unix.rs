//! The signal that ended a worker.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

use nix::sys::signal::Signal;

use super::DeathCause;

pub(super) fn cause_of_status(status: ExitStatus) -> DeathCause {
    let signal = status.signal();
    match signal.and_then(|number| Signal::try_from(number).ok()) {
        Some(Signal::SIGXCPU) => DeathCause::Processor,
        Some(Signal::SIGSYS) => DeathCause::Forbidden,
        Some(Signal::SIGKILL | Signal::SIGTERM) => DeathCause::Killed,
        _ => DeathCause::Unknown,
    }
}
