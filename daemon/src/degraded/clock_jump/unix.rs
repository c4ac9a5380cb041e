//! `CLOCK_BOOTTIME` of Linux, elsewhere `CLOCK_MONOTONIC`.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

#[cfg(target_os = "linux")]
const STEADY_CLOCK_ID: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const STEADY_CLOCK_ID: ClockId = ClockId::CLOCK_MONOTONIC;

pub(super) fn time_since_boot() -> Duration {
    clock_gettime(STEADY_CLOCK_ID).map_or(Duration::ZERO, Duration::from)
}
