//! Sleep for the threads that the store starts for itself.
//!
//! They look once a second whether there is work, all seven of them, for the daemon's life and whether the store is used
//! or not. Whoever has work wakes them besides, so that a look may come as late as it likes: the system gives each thread
//! a slack by which its waits may be longer, and a thread has it from the one that started it. Then they look when the
//! processor is awake anyway, and wake no idle one.
//!
//! Invariant: the slack is on a thread of ours only while the store is asked; our own waits are as long as we say.

/// By how much a wait of theirs may be longer.
#[cfg(target_os = "linux")]
const STORE_TIMER_SLACK: std::time::Duration = std::time::Duration::from_secs(600);

/// Whatever thread is started until this is dropped is in no hurry.
pub(super) struct TimerSlackGuard(());

#[cfg(target_os = "linux")]
impl TimerSlackGuard {
    pub(super) fn begin() -> Self {
        let nanos = nix::libc::c_ulong::try_from(STORE_TIMER_SLACK.as_nanos());
        // Without it they wake as often as they want to.
        _ = nix::sys::prctl::set_timerslack(nanos.unwrap_or(nix::libc::c_ulong::MAX));
        Self(())
    }
}

#[cfg(target_os = "linux")]
impl Drop for TimerSlackGuard {
    fn drop(&mut self) {
        // The one that this thread had when it was started.
        _ = nix::sys::prctl::set_timerslack(0);
    }
}

/// Other systems have no such thing.
#[cfg(not(target_os = "linux"))]
impl TimerSlackGuard {
    pub(super) fn begin() -> Self {
        Self(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{fs, thread};

    use super::*;

    /// In nanoseconds.
    fn slack() -> u128 {
        let thread = nix::unistd::gettid();
        let text = fs::read_to_string(format!("/proc/{thread}/timerslack_ns")).unwrap();
        text.trim().parse().unwrap()
    }

    #[test]
    fn threads_that_are_started_meanwhile_are_in_no_hurry_and_ours_is_again() {
        let before = slack();
        let leisure = TimerSlackGuard::begin();
        let theirs = thread::spawn(slack);
        assert_eq!(theirs.join().unwrap(), STORE_TIMER_SLACK.as_nanos());
        drop(leisure);
        assert_eq!(slack(), before);
        assert_eq!(thread::spawn(slack).join().unwrap(), before);
    }
}
