//! The times that the kernel keeps of a process, in ticks of the machine's clock.

use std::{mem::MaybeUninit, time::Duration};

use nix::libc::{RUSAGE_INFO_V2, c_int, proc_pid_rusage, rusage_info_v2};

/// The length of a tick as a fraction of nanoseconds: 125/3 on Apple's processors, 1/1 on Intel's.
#[repr(C)]
struct Timebase {
    numerator: u32,
    denominator: u32,
}

#[expect(
    unsafe_code,
    reason = "libc's declaration is deprecated in favour of a crate that is not at hand"
)]
unsafe extern "C" {
    fn mach_timebase_info(info: *mut Timebase) -> c_int;
}

/// The CPU time that a process of this user has used so far.
#[expect(unsafe_code, reason = "no safe wrapper of proc_pid_rusage is at hand")]
pub(super) fn processor_time_used(pid: u32) -> Option<Duration> {
    let mut usage = MaybeUninit::<rusage_info_v2>::zeroed();
    // SAFETY: the buffer has the type that this flavor fills, for which all zeros is a valid value.
    let usage = unsafe {
        let pid = c_int::try_from(pid).ok()?;
        let status = proc_pid_rusage(pid, RUSAGE_INFO_V2, usage.as_mut_ptr().cast());
        (status == 0).then(|| usage.assume_init())?
    };
    let mut timebase = Timebase {
        numerator: 1,
        denominator: 1,
    };
    // SAFETY: the call fills the structure, which has the layout of `mach_timebase_info_data_t`.
    let status = unsafe { mach_timebase_info(&raw mut timebase) };
    if status != 0 || timebase.denominator == 0 {
        return None;
    }
    let ticks = u128::from(usage.ri_user_time) + u128::from(usage.ri_system_time);
    let nanos = ticks * u128::from(timebase.numerator) / u128::from(timebase.denominator);
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}
