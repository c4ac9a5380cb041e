//! The CPU time of this process, as Unix systems account for it.

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};

pub(super) fn own_cpu_seconds() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1_000_000.0;
    Some(seconds(usage.user_time()) + seconds(usage.system_time()))
}
