//! The CPU time of one run, measured by the daemon: its limit, and the lower priority of a run that computes long.
//!
//! Invariant: a run that waits is polled rarely. The next poll comes when the process could have used up the rest of
//! its budget at the earliest: with all processors of the machine. While its priority is not lowered, the intervals
//! double.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
mod none;
#[cfg(windows)]
mod windows;

use std::{future::pending, sync::LazyLock, thread::available_parallelism, time::Duration};

use tokio::time::{Instant, sleep_until};

#[cfg(target_os = "linux")]
use self::linux::processor_time_used;
#[cfg(target_os = "macos")]
use self::macos::processor_time_used;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
use self::none::processor_time_used;
#[cfg(windows)]
use self::windows::processor_time_used;

/// The minimum interval between two polls.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// A run that has used this much CPU time gets a lower priority: short runs and the daemon come first.
const TIME_AT_FULL_PRIORITY: Duration = Duration::from_millis(50);

pub(super) struct ProcessorLimit {
    /// `None` on systems without such a clock, where only the wall time is limited.
    worker: Option<ProcessClock>,
    most: Duration,
    next: Instant,
    /// The longest interval to the next poll, until the priority is lowered.
    interval: Duration,
    is_lowered: bool,
}

/// The processor clock of one process, and its reading at the start of the run.
struct ProcessClock {
    pid: u32,
    began: Duration,
}

impl ProcessorLimit {
    pub(super) fn start(pid: Option<u32>, most: Duration) -> Self {
        let worker = pid.and_then(|pid| {
            let began = processor_time_used(pid)?;
            Some(ProcessClock { pid, began })
        });
        Self {
            worker,
            most,
            next: Instant::now() + MIN_POLL_INTERVAL,
            interval: MIN_POLL_INTERVAL,
            is_lowered: false,
        }
    }

    /// Returns true if the process has a lower priority now. Raising it again would need privileges.
    pub(super) fn has_lowered_priority(&self) -> bool {
        self.is_lowered
    }

    /// Resolves with the time used once the run has exceeded its limit. Cancel-safe.
    pub(super) async fn exceeded(&mut self) -> Duration {
        let Some(meter) = &self.worker else {
            return pending().await;
        };
        loop {
            sleep_until(self.next).await;
            // A process that has ended uses nothing; `Worker::receive` reports its end.
            let now = processor_time_used(meter.pid).unwrap_or(meter.began);
            let spent = now.saturating_sub(meter.began);
            let Some(left) = self.most.checked_sub(spent) else {
                return spent;
            };
            let mut interval = shortest_time_to_use(left);
            if !self.is_lowered {
                if spent >= TIME_AT_FULL_PRIORITY {
                    self.is_lowered = lower_priority(meter.pid);
                }
                self.interval *= 2;
                interval = interval.min(self.interval);
            }
            self.next = Instant::now() + interval;
        }
    }
}

/// Lowers the priority of a worker, with all its threads. Returns true on success.
#[cfg(unix)]
fn lower_priority(pid: u32) -> bool {
    let group = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    group.is_some_and(|group| {
        rustix::process::setpriority_pgrp(Some(group), mux_wire::LOW_PRIORITY).is_ok()
    })
}

#[cfg(not(unix))]
fn lower_priority(_pid: u32) -> bool {
    false
}

/// The shortest time in which all processors of this machine can use up this much CPU time.
fn shortest_time_to_use(left: Duration) -> Duration {
    // Counted once: on Linux, that reads the files of the control groups.
    static PROCESSORS: LazyLock<u32> = LazyLock::new(|| {
        available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
    });
    (left / *PROCESSORS).max(MIN_POLL_INTERVAL)
}

#[cfg(all(test, any(target_os = "linux", target_os = "macos", windows)))]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn time_of_a_process_grows_with_its_work_until_it_has_ended() {
        let used = || processor_time_used(std::process::id()).unwrap();
        let begin = used();
        while used() < begin + Duration::from_millis(20) {
            black_box(());
        }
        let program = if cfg!(windows) { "hostname" } else { "true" };
        let mut ended = std::process::Command::new(program).spawn().unwrap();
        ended.wait().unwrap();
        assert_eq!(processor_time_used(ended.id()), None);
    }
}
