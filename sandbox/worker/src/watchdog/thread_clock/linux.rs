//! The clock that `pthread_getcpuclockid` names.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

#[derive(Clone, Copy)]
pub(in crate::watchdog) struct ThreadClock(ClockId);

impl ThreadClock {
    pub(in crate::watchdog) fn of_this() -> Self {
        // Per thread, by the scheduler's count.
        const CPUCLOCK_PER_THREAD: i32 = 4;
        const CPUCLOCK_SCHED: i32 = 2;
        let thread = nix::unistd::gettid().as_raw();
        Self(ClockId::from_raw(
            (!thread) << 3 | CPUCLOCK_PER_THREAD | CPUCLOCK_SCHED,
        ))
    }

    pub(in crate::watchdog) fn now(self) -> Option<Duration> {
        clock_gettime(self.0).ok().map(Duration::from)
    }
}
