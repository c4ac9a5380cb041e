//! The times that the kernel keeps of a Mach thread.

use std::{mem::MaybeUninit, time::Duration};

use nix::libc::{
    KERN_SUCCESS, THREAD_BASIC_INFO, THREAD_BASIC_INFO_COUNT, mach_port_t, pthread_mach_thread_np,
    pthread_self, thread_basic_info, thread_flavor_t, thread_info, time_value_t,
};

#[derive(Clone, Copy)]
pub(in crate::watchdog) struct ThreadClock(mach_port_t);

impl ThreadClock {
    #[expect(unsafe_code, reason = "the thread's port is known to C functions only")]
    pub(in crate::watchdog) fn of_this() -> Self {
        // SAFETY: the current thread exists, and the call takes no reference to its port.
        Self(unsafe { pthread_mach_thread_np(pthread_self()) })
    }

    #[expect(unsafe_code, reason = "no safe wrapper of thread_info is at hand")]
    pub(in crate::watchdog) fn now(self) -> Option<Duration> {
        let flavor = thread_flavor_t::try_from(THREAD_BASIC_INFO).ok()?;
        let mut count = THREAD_BASIC_INFO_COUNT;
        let mut info = MaybeUninit::<thread_basic_info>::uninit();
        // SAFETY: the call writes at most `count` integers, which is the size of the structure for this flavor. The
        // port of a thread that has ended is an error.
        let info = unsafe {
            let status = thread_info(self.0, flavor, info.as_mut_ptr().cast(), &raw mut count);
            (status == KERN_SUCCESS).then(|| info.assume_init())?
        };
        Some(duration(info.user_time)? + duration(info.system_time)?)
    }
}

fn duration(time: time_value_t) -> Option<Duration> {
    let micros = u64::try_from(time.microseconds).ok()?;
    Some(Duration::from_secs(u64::try_from(time.seconds).ok()?) + Duration::from_micros(micros))
}
