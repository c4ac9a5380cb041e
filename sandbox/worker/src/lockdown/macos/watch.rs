//! A thread that polls the memory of its own process, which the system does not limit.
//!
//! Invariant: a process over its budget ends with the exit code for a program that ran out of memory. A process that
//! grows by gigabytes between two polls is stopped by the system, if at all.

use std::{mem::MaybeUninit, process, thread, time::Duration};

use nix::libc;

/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Starts the thread. From now on the process may grow by `budget` bytes.
pub(super) fn start(budget: usize) -> bool {
    let Some(now) = footprint() else {
        return false;
    };
    let most = now.saturating_add(budget as u64);
    let watch = move || {
        while footprint().is_none_or(|bytes| bytes <= most) {
            thread::sleep(POLL_INTERVAL);
        }
        crate::lockdown::exit_out_of_memory()
    };
    let started = thread::Builder::new()
        .name("mux-memory".into())
        .spawn(watch);
    started.is_ok()
}

/// The physical footprint of this process in bytes.
#[expect(unsafe_code, reason = "no safe wrapper of proc_pid_rusage is at hand")]
fn footprint() -> Option<u64> {
    let own = libc::c_int::try_from(process::id()).ok()?;
    let mut usage = MaybeUninit::<libc::rusage_info_v2>::zeroed();
    // SAFETY: the buffer has the type that this flavor fills, for which all zeros is a valid value.
    let usage = unsafe {
        let status = libc::proc_pid_rusage(own, libc::RUSAGE_INFO_V2, usage.as_mut_ptr().cast());
        (status == 0).then(|| usage.assume_init())
    };
    usage.map(|usage| usage.ri_phys_footprint)
}
