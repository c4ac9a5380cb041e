//! `CLOCK_THREAD_CPUTIME_ID`.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

pub fn thread_cpu_time() -> Option<Duration> {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(now.into())
}
