//! The processor clock that POSIX defines for a process.

use std::time::Duration;

use nix::{
    time::{clock_getcpuclockid, clock_gettime},
    unistd::Pid,
};

/// The CPU time that a process has used so far.
pub(super) fn processor_time_used(pid: u32) -> Option<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(i32::try_from(pid).ok()?)).ok()?;
    clock_gettime(clock).ok().map(Duration::from)
}
