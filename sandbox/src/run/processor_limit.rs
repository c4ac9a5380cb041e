//! The processor time limit of one run, measured by the daemon.
//!
//! Invariant: a run that waits is polled rarely. The next poll comes when the process could have used up the rest of
//! its budget at the earliest: with all processors of the machine.

use std::{future::pending, thread::available_parallelism, time::Duration};

use tokio::time::{Instant, sleep_until};

/// The minimum interval between two polls.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) struct ProcessorLimit {
    /// `None` on systems without such a clock, where only the wall time is limited.
    worker: Option<ProcessClock>,
    most: Duration,
    next: Instant,
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
            next: Instant::now() + shortest_time_to_use(most),
        }
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
            self.next = Instant::now() + shortest_time_to_use(left);
        }
    }
}

/// The shortest time in which all processors of this machine can use up this much processor time.
fn shortest_time_to_use(left: Duration) -> Duration {
    let threads = available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
    (left / threads).max(MIN_POLL_INTERVAL)
}

/// The processor time that a process has used so far.
#[cfg(target_os = "linux")]
fn processor_time_used(pid: u32) -> Option<Duration> {
    use nix::{time, unistd::Pid};
    let clock = time::clock_getcpuclockid(Pid::from_raw(i32::try_from(pid).ok()?)).ok()?;
    time::clock_gettime(clock).ok().map(Duration::from)
}

#[cfg(not(target_os = "linux"))]
fn processor_time_used(_pid: u32) -> Option<Duration> {
    None
}
