//! The CPU time of one thread, read from another one.
//!
//! Invariant: if the system does not provide the clock, there is no reading, and the caller uses the wall
//! clock.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
mod none;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(super) use self::linux::ThreadClock;
#[cfg(target_os = "macos")]
pub(super) use self::macos::ThreadClock;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(super) use self::none::ThreadClock;
#[cfg(windows)]
pub(super) use self::windows::ThreadClock;

#[cfg(all(test, any(target_os = "linux", target_os = "macos", windows)))]
mod tests {
    use std::{hint::black_box, thread, time::Duration};

    use super::*;

    #[test]
    fn clock_advances_with_the_work_of_its_thread_only() {
        let idle = ThreadClock::of_this();
        let before = idle.now().unwrap();
        let busy = thread::spawn(|| {
            let clock = ThreadClock::of_this();
            let begin = clock.now().unwrap();
            while clock.now().unwrap() < begin + Duration::from_millis(20) {
                black_box(());
            }
        });
        busy.join().unwrap();
        assert!(idle.now().unwrap() < before + Duration::from_millis(20));
    }
}
