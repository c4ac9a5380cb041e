//! A large timer slack for the threads that the store starts.
//!
//! The store's seven threads poll for work once a second, whether the store is used or not. New work wakes them anyway,
//! so they may poll late. A thread inherits its timer slack from the thread that starts it: with a large slack they
//! poll only when the CPU is awake anyway.
//!
//! Invariant: a thread of this crate has the slack only while it uses the store, so its own waits are exact.

/// By how much a wait of the store's threads may be longer.
#[cfg(target_os = "linux")]
const STORE_TIMER_SLACK: std::time::Duration = std::time::Duration::from_mins(10);

/// Threads that are spawned while this guard lives get a large timer slack.
pub(super) struct TimerSlackGuard(());

#[cfg(target_os = "linux")]
impl TimerSlackGuard {
    pub(super) fn begin() -> Self {
        let nanos = nix::libc::c_ulong::try_from(STORE_TIMER_SLACK.as_nanos());
        // On an error the threads just wake more often.
        _ = nix::sys::prctl::set_timerslack(nanos.unwrap_or(nix::libc::c_ulong::MAX));
        Self(())
    }
}

#[cfg(target_os = "linux")]
impl Drop for TimerSlackGuard {
    fn drop(&mut self) {
        // 0 resets the slack to the thread's default.
        _ = nix::sys::prctl::set_timerslack(0);
    }
}

/// Other systems have no timer slack.
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
    fn spawned_threads_inherit_the_slack_and_the_guard_resets_it() {
        let before = slack();
        let leisure = TimerSlackGuard::begin();
        let theirs = thread::spawn(slack);
        assert_eq!(theirs.join().unwrap(), STORE_TIMER_SLACK.as_nanos());
        drop(leisure);
        assert_eq!(slack(), before);
        assert_eq!(thread::spawn(slack).join().unwrap(), before);
    }
}
