//! A thread that looks at the memory of its own process, because no limit of the system counts it.
//!
//! Invariant: a process that is over its budget ends with the exit code by which the daemon knows it. One
//! that grows by gigabytes between two looks is stopped by the system, if at all.

use std::{mem::MaybeUninit, process, thread, time::Duration};

use nix::libc;

/// Between two looks.
const PERIOD: Duration = Duration::from_millis(20);

/// From now on the process may grow by `budget` bytes.
pub(super) fn start(budget: usize) -> bool {
    let Some(now) = footprint() else {
        return false;
    };
    let most = now.saturating_add(budget as u64);
    let watch = move || {
        while footprint().is_none_or(|bytes| bytes <= most) {
            thread::sleep(PERIOD);
        }
        crate::lockdown::out_of_memory()
    };
    let started = thread::Builder::new()
        .name("mux-memory".into())
        .spawn(watch);
    started.is_ok()
}

/// What the system charges this process for.
#[expect(unsafe_code, reason = "no safe wrapper of proc_pid_rusage is at hand")]
fn footprint() -> Option<u64> {
    let own = libc::c_int::try_from(process::id()).ok()?;
    let mut usage = MaybeUninit::<libc::rusage_info_v2>::zeroed();
    // SAFETY: the buffer is of the type that this flavor fills, whose zero is a value of it too.
    let usage = unsafe {
        let status = libc::proc_pid_rusage(own, libc::RUSAGE_INFO_V2, usage.as_mut_ptr().cast());
        (status == 0).then(|| usage.assume_init())
    };
    usage.map(|usage| usage.ri_phys_footprint)
}
